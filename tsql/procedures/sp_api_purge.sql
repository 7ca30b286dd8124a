SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_purge: removes answered requests before the janitor does.

Purpose
    For an admin. Removes requests with their replies, oldest first, in transactions of at most @batch requests each,
    so that it can be stopped at any time and what is done stays done. Idempotency keys, buried rows and batches are
    the janitor's.
Parameters
    @older_than_hours         answered longer ago than this; NULL for the setting retention_hours
    @state                    completed, failed, expired or cancelled: only these; NULL for all, and with them requests
                              that are as old, were never answered and are no longer queued
    @batch                    requests per transaction, 1 to 1000
    @max_batches              stop after so many; NULL for no end
    @deleted                  output: how many requests were removed
Return codes
    0
Errors
    54075 the caller is no admin, 54079 an argument out of range, 54080 inside a transaction
Locks
    The rows it removes, in its own short transactions. Locked requests are skipped.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_purge]
    @older_than_hours int = NULL,
    @state nvarchar(16) = NULL,
    @batch int = 1000,
    @max_batches int = NULL,
    @deleted bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    IF @@TRANCOUNT > 0
        THROW 54080, N'A purge commits batch by batch and cannot run inside a transaction.', 1;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE
        @admin bit,
        @before datetime2(7),
        @from bigint = 0,
        @removed int,
        @batches int = 0;
    SET @deleted = 0;

    EXEC @admin = [dbo].[sp_api_broker_identity];
    IF @admin = 0
        THROW 54075, N'Only db_owner and api_broker_admin may do this.', 1;
    IF @older_than_hours < 0
        OR @state NOT IN (N'completed', N'failed', N'expired', N'cancelled')
        OR @batch IS NULL OR @batch NOT BETWEEN 1 AND 1000
        OR @max_batches < 1
        THROW 54079, N'A filter is missing or out of range; see the parameters in the header of the procedure.', 1;

    SELECT @before = DATEADD(hour, -COALESCE(@older_than_hours, s.retention_hours), SYSUTCDATETIME())
    FROM [dbo].[api_broker_setting] AS s
    WHERE s.id = 1;
    WHILE @from IS NOT NULL AND (@max_batches IS NULL OR @batches < @max_batches)
    BEGIN
        EXEC [dbo].[sp_api_broker_discard]
            @from = @from OUTPUT,
            @before = @before,
            @state = @state,
            @batch = @batch,
            @deleted = @removed OUTPUT;
        SET @deleted += @removed;
        IF @removed > 0
            SET @batches += 1;
    END;
    RETURN 0;
END;
GO
