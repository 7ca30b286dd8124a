SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_purge_dead_letters: removes buried rows before the janitor does.

Purpose
    For an admin. Removes buried queue rows, oldest first, in transactions of at most @batch rows each. The requests
    and their replies stay as long as others do.
Parameters
    @older_than_hours         buried longer ago than this; NULL for the setting dead_letter_hours
    @batch                    rows per transaction, 1 to 1000
    @max_batches              stop after so many; NULL for no end
    @deleted                  output: how many rows were removed
Return codes
    0
Errors
    54075 the caller is no admin, 54079 an argument out of range, 54080 inside a transaction
Locks
    The rows it removes, in its own short transactions. Locked rows are skipped.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_purge_dead_letters]
    @older_than_hours int = NULL,
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
        @removed int = 1,
        @batches int = 0;
    SET @deleted = 0;

    EXEC @admin = [dbo].[sp_api_broker_identity];
    IF @admin = 0
        THROW 54075, N'Only db_owner and api_broker_admin may do this.', 1;
    IF @older_than_hours < 0
        OR @batch IS NULL OR @batch NOT BETWEEN 1 AND 1000
        OR @max_batches < 1
        THROW 54079, N'A filter is missing or out of range; see the parameters in the header of the procedure.', 1;

    SELECT @before = DATEADD(hour, -COALESCE(@older_than_hours, s.dead_letter_hours), SYSUTCDATETIME())
    FROM [dbo].[api_broker_setting] AS s
    WHERE s.id = 1;
    WHILE @removed > 0 AND (@max_batches IS NULL OR @batches < @max_batches)
    BEGIN
        DELETE TOP (@batch)
        FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
        WHERE queue = N'api.deadletter'
            AND available_at <= @before;
        SET @removed = @@ROWCOUNT;
        SET @deleted += @removed;
        SET @batches += 1;
    END;
    RETURN 0;
END;
GO
