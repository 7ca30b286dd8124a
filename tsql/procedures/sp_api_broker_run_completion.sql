SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_run_completion: runs one completion procedure.

Purpose
    In a transaction of its own, long after that of the reply, which nothing here can touch. The row of api.completion
    goes in the same transaction, so that what the procedure did and that it has run are one. If it throws, or leaves
    a transaction open, or ends the one it runs in, all is rolled back and it is tried again after a pause that
    doubles, from one second to five minutes; after max_attempts runs the row is buried with the last error.
    A run that hangs is ended by the worker, which calls again with @failure.
Parameters
    @message_id, @lock_id     the lease that sp_api_broker_completions gave
    @failure                  why the run was ended from outside: nothing is run, the failure is noted
    @error                    output: why the run failed. It can quote data: it is for the admin, not for a log.
Return codes
    0 it has run
    1 the lease is lost, nothing was run
    2 it failed and is tried again
    3 it failed for the last time and is buried
Errors
    None of its own.
Locks
    The row of api.completion, and whatever the procedure takes, until it ends.
    Call it outside a transaction: it commits by itself.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_run_completion]
    @message_id uniqueidentifier,
    @lock_id uniqueidentifier,
    @failure nvarchar(2048) = NULL,
    @error nvarchar(2048) = NULL OUTPUT
AS
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET NOCOUNT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET XACT_ABORT ON;
    DECLARE
        @id bigint,
        @schema nvarchar(128),
        @name nvarchar(128),
        @attempts int,
        @max_attempts int,
        @pause_ms int,
        @changed int;
    SET @error = NULL;

    SELECT
        @id = c.id,
        @schema = k.procedure_schema,
        @name = k.procedure_name,
        @attempts = q.attempts,
        @max_attempts = k.max_attempts
    FROM (
        SELECT
            m.attempts,
            TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id')) AS request_id
        FROM [dbo].[asyncresponse_transport_messages] AS m
        WHERE m.id = @message_id
            AND m.lock_id = @lock_id
            AND m.queue = N'api.completion'
    ) AS q
    INNER JOIN [dbo].[api_broker_call] AS c
        ON c.id = q.request_id
    INNER JOIN [dbo].[api_broker_completion] AS k
        ON k.name = c.on_complete COLLATE Latin1_General_100_BIN2;
    IF @id IS NULL
        RETURN 1;

    IF @failure IS NULL
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            DELETE FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
            WHERE id = @message_id
                AND lock_id = @lock_id;
            SET @changed = @@ROWCOUNT;
            IF @changed = 0
            BEGIN
                ROLLBACK TRANSACTION;
                RETURN 1;
            END;
            EXEC [dbo].[sp_api_broker_call_completion]
                @schema = @schema,
                @name = @name,
                @id = @id;
            IF @@TRANCOUNT = 1
            BEGIN
                COMMIT TRANSACTION;
                RETURN 0;
            END;
            SET @failure = N'The completion procedure left a transaction open, or ended the one it ran in.';
        END TRY
        BEGIN CATCH
            SET @failure = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        END CATCH;
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
    END;

    SET @error = @failure;
    IF @attempts >= @max_attempts
    BEGIN
        UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
        SET queue = N'api.deadletter',
            available_at = SYSUTCDATETIME(),
            locked_until = NULL,
            lock_id = NULL,
            dead_letter_reason = @failure
        WHERE id = @message_id
            AND lock_id = @lock_id;
        RETURN 3;
    END;
    SET @pause_ms = CASE WHEN @attempts > 8 THEN 300000 ELSE 1000 * POWER(2, @attempts - 1) END;
    UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
    SET available_at = DATEADD(millisecond, @pause_ms, SYSUTCDATETIME()),
        locked_until = NULL,
        lock_id = NULL
    WHERE id = @message_id
        AND lock_id = @lock_id;
    RETURN 2;
END;
GO
