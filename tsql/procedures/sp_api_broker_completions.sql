SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_completions: leases due completion procedures to a worker.

Purpose
    The statement that stores the reply of a request with @on_complete also puts a row into api.completion. This takes
    such rows, raises their attempts and gives them a lease that is longer than any run may last. Those that cannot be
    run are buried: the request is gone, its procedure is no longer registered, or its runs all ended with their
    workers. The others are run one by one by sp_api_broker_run_completion.
Parameters
    @n                        the most rows to take
Result set
    message_id, lock_id, request_id, attempts, timeout_ms: what to run, and when to end the run
Return codes
    0
Errors
    54061 an argument out of range
Locks
    Update locks on the rows it takes, skipping what others have locked.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_completions]
    @n int = 10
AS
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @until datetime2(7),
        @longest int,
        @lock_id uniqueidentifier = NEWID();
    DECLARE @claimed TABLE (
        message_id uniqueidentifier NOT NULL,
        attempts int NOT NULL,
        payload_json nvarchar(max) NOT NULL
    );
    DECLARE @due TABLE (
        message_id uniqueidentifier NOT NULL,
        attempts int NOT NULL,
        request_id bigint NULL,
        timeout_ms int NULL,
        reason nvarchar(200) NULL
    );

    IF @n IS NULL OR @n NOT BETWEEN 1 AND 1000
        THROW 54061, N'A claim of completion procedures needs @n from 1 to 1000.', 1;
    SELECT @longest = MAX(k.timeout_ms)
    FROM [dbo].[api_broker_completion] AS k;
    SET @until = DATEADD(millisecond, COALESCE(@longest, 0) + 30000, @now);

    WITH ready AS (
        SELECT TOP (@n)
            m.id,
            m.payload_json,
            m.created_at,
            m.available_at,
            m.locked_until,
            m.lock_id,
            m.attempts
        FROM [dbo].[asyncresponse_transport_messages] AS m WITH (UPDLOCK, ROWLOCK, READPAST)
        WHERE m.queue = N'api.completion'
            AND m.available_at <= @now
        ORDER BY
            m.available_at,
            m.created_at
    )
    UPDATE ready
    SET available_at = @until,
        locked_until = @until,
        lock_id = @lock_id,
        attempts = attempts + 1
    OUTPUT
        inserted.id,
        inserted.attempts,
        inserted.payload_json
    INTO @claimed (
        message_id,
        attempts,
        payload_json);

    INSERT INTO @due (
        message_id,
        attempts,
        request_id,
        timeout_ms,
        reason)
    SELECT
        q.message_id,
        q.attempts,
        c.id,
        k.timeout_ms,
        CASE
            WHEN c.id IS NULL THEN N'The row names no request.'
            WHEN k.name IS NULL THEN N'The completion procedure of the request is not registered.'
            WHEN q.attempts > k.max_attempts THEN N'The last allowed run of the completion procedure ended with its worker.'
        END
    FROM (
        SELECT
            t.message_id,
            t.attempts,
            TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(t.payload_json) = 1 THEN t.payload_json END, N'$.id')) AS request_id
        FROM @claimed AS t
    ) AS q
    LEFT JOIN [dbo].[api_broker_call] AS c
        ON c.id = q.request_id
    LEFT JOIN [dbo].[api_broker_completion] AS k
        ON k.name = c.on_complete COLLATE Latin1_General_100_BIN2;

    UPDATE m
    SET queue = N'api.deadletter',
        available_at = @now,
        locked_until = NULL,
        lock_id = NULL,
        dead_letter_reason = d.reason
    FROM @due AS d
    INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
        ON m.id = d.message_id
        AND m.lock_id = @lock_id
    WHERE d.reason IS NOT NULL
    OPTION (LOOP JOIN, FORCE ORDER);

    SELECT
        d.message_id,
        @lock_id AS lock_id,
        d.request_id,
        d.attempts,
        d.timeout_ms
    FROM @due AS d
    WHERE d.reason IS NULL
    ORDER BY d.request_id;
    RETURN 0;
END;
GO
