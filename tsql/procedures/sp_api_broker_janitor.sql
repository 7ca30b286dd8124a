SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_janitor: what nobody else does.

Purpose
    One process at a time, elected by an application lock without waiting; every worker may call it, and the lock goes
    with the session, so that another one takes over.
    Expires: due requests of every lane that has rows whose time to be started has passed.
    Buries: requests whose last allowed attempt ended with its worker. A lease that lapsed with attempts left needs
    nothing: its row is due again by itself.
    Cancels: requests that were called off while they ran and whose worker did not live to say so.
    Purges: answered requests past retention_hours with their replies, requests that are as old and were never
    answered or queued, buried rows, idempotency keys, batches, and what is left of workers that are gone.
    Each row is settled by itself: one that cannot be is buried, or left, and the others go on. Each lane is looked at
    from its head in stretches of @batch rows, at most ten.
Parameters
    @batch                    1 to 1000
Result set
    expired, buried, purged: how many; none when somebody else is at it. Cancelled ones count as expired.
Return codes
    0
    1 somebody else is at it
Errors
    54061 an argument out of range
Locks
    Rows, skipping locked ones, in short transactions of its own.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_janitor]
    @batch int = 1000
AS
BEGIN
    SET NOCOUNT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @code int,
        @queue nvarchar(200) = N'api.',
        @next nvarchar(200),
        @after datetime2(7),
        @seen int,
        @stretch int,
        @message_id uniqueidentifier,
        @request_id bigint,
        @attempts int,
        @state nvarchar(16),
        @ordinal int,
        @expired int = 0,
        @buried int = 0,
        @purged int = 0,
        @removed int,
        @from bigint = 0,
        @answer_before datetime2(7),
        @buried_before datetime2(7),
        @alive_after datetime2(7);
    DECLARE @head TABLE (
        message_id uniqueidentifier NOT NULL,
        available_at datetime2(7) NOT NULL,
        attempts int NOT NULL,
        request_id bigint NULL
    );
    DECLARE @overdue TABLE (
        ordinal int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        message_id uniqueidentifier NOT NULL,
        request_id bigint NOT NULL,
        attempts int NOT NULL,
        state nvarchar(16) NOT NULL
    );

    IF @batch IS NULL OR @batch NOT BETWEEN 1 AND 1000
        THROW 54061, N'The janitor needs @batch from 1 to 1000.', 1;
    EXEC @code = sys.sp_getapplock
        @Resource = N'loopbroker:[dbo]:janitor',
        @LockMode = N'Exclusive',
        @LockOwner = N'Session',
        @LockTimeout = 0,
        @DbPrincipal = N'public';
    IF @code < 0
        RETURN 1;

    BEGIN TRY
        WHILE 1 = 1
        BEGIN
            SET @next = NULL;
            SELECT TOP (1) @next = m.queue
            FROM [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
            WHERE m.queue > @queue
                AND m.queue LIKE N'api.%'
            ORDER BY m.queue;
            IF @next IS NULL
                BREAK;
            SELECT
                @queue = @next,
                @after = NULL,
                @stretch = CASE WHEN @next IN (N'api.deadletter', N'api.completion') THEN 10 ELSE 0 END;

            WHILE @stretch < 10
            BEGIN
                DELETE FROM @head;
                INSERT INTO @head (
                    message_id,
                    available_at,
                    attempts,
                    request_id)
                SELECT TOP (@batch)
                    m.id,
                    m.available_at,
                    m.attempts,
                    TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id'))
                FROM [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
                WHERE m.queue = @queue
                    AND m.queue + N'.' = @queue + N'.' COLLATE Latin1_General_100_BIN2
                    AND m.available_at <= @now
                    AND (@after IS NULL OR m.available_at > @after)
                    AND (m.locked_until IS NULL OR m.locked_until <= @now)
                ORDER BY
                    m.available_at,
                    m.created_at;
                SET @seen = @@ROWCOUNT;
                INSERT INTO @overdue (
                    message_id,
                    request_id,
                    attempts,
                    state)
                SELECT TOP (@batch)
                    h.message_id,
                    c.id,
                    h.attempts,
                    CASE WHEN h.attempts = 0 THEN N'expired' ELSE N'failed' END
                FROM @head AS h
                INNER JOIN [dbo].[api_broker_call] AS c
                    ON c.id = h.request_id
                WHERE (h.attempts = 0 AND c.expires_at <= @now)
                    OR h.attempts >= c.max_attempts
                ORDER BY h.available_at;
                IF @seen < @batch
                    BREAK;
                SELECT @after = MAX(h.available_at)
                FROM @head AS h;
                SET @stretch += 1;
            END;
        END;

        -- The worker that should have ended these is gone, or its lease is.
        INSERT INTO @overdue (
            message_id,
            request_id,
            attempts,
            state)
        SELECT TOP (@batch)
            m.id,
            c.id,
            m.attempts,
            N'cancelled'
        FROM [dbo].[api_broker_cancel] AS k WITH (READCOMMITTEDLOCK, READPAST)
        INNER JOIN [dbo].[api_broker_call] AS c
            ON c.id = k.request_id
        INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
            ON m.id = c.message_id
        WHERE m.queue <> N'api.deadletter'
            AND (m.locked_until IS NULL OR m.locked_until <= @now);

        SET @ordinal = 0;
        WHILE 1 = 1
        BEGIN
            SELECT TOP (1)
                @ordinal = o.ordinal,
                @message_id = o.message_id,
                @request_id = o.request_id,
                @attempts = o.attempts,
                @state = o.state
            FROM @overdue AS o
            WHERE o.ordinal > @ordinal
            ORDER BY o.ordinal;
            IF @@ROWCOUNT = 0
                BREAK;
            BEGIN TRY
                EXEC @code = [dbo].[sp_api_broker_end_overdue]
                    @message_id = @message_id,
                    @attempts = @attempts,
                    @request_id = @request_id,
                    @state = @state,
                    @now = @now;
                IF @code = 0 AND @state = N'failed'
                    SET @buried += 1;
                IF @code = 0 AND @state <> N'failed'
                    SET @expired += 1;
            END TRY
            BEGIN CATCH
                IF @@TRANCOUNT > 0
                    ROLLBACK TRANSACTION;
                -- Out of the way of the others; without a reply, which is what failed.
                UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
                SET queue = N'api.deadletter',
                    available_at = @now,
                    locked_until = NULL,
                    lock_id = NULL,
                    dead_letter_reason = LEFT(CONCAT(N'The janitor could not settle it. Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048)
                WHERE id = @message_id
                    AND attempts = @attempts
                    AND (locked_until IS NULL OR locked_until <= @now);
                SET @buried += @@ROWCOUNT;
            END CATCH;
        END;

        SELECT
            @answer_before = DATEADD(hour, -s.retention_hours, @now),
            @buried_before = DATEADD(hour, -s.dead_letter_hours, @now),
            @alive_after = DATEADD(millisecond, -s.worker_alive_ms, @now)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;
        SET @stretch = 0;
        WHILE @stretch < 10 AND @from IS NOT NULL
        BEGIN
            EXEC [dbo].[sp_api_broker_discard]
                @from = @from OUTPUT,
                @before = @answer_before,
                @batch = @batch,
                @deleted = @removed OUTPUT;
            SET @purged += @removed;
            IF @removed > 0
                BREAK;
            SET @stretch += 1;
        END;

        DELETE TOP (@batch) FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
        WHERE queue = N'api.deadletter'
            AND available_at < @buried_before;
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_idempotency] WITH (ROWLOCK, READPAST)
        WHERE expires_at < @now;
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_batch] WITH (ROWLOCK, READPAST)
        WHERE created_at < @answer_before;
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_worker] WITH (ROWLOCK, READPAST)
        WHERE heartbeat_at < DATEADD(day, -1, @now);
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_host] WITH (ROWLOCK, READPAST)
        WHERE NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_worker] AS w
            WHERE w.id = worker_id
                AND w.heartbeat_at >= @alive_after);
        -- Words for workers about requests that have come to their end all the same.
        DELETE TOP (@batch) FROM [dbo].[api_broker_cancel] WITH (ROWLOCK, READPAST)
        WHERE EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_reply] AS r
                WHERE r.request_id = [api_broker_cancel].request_id)
            OR NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_call] AS c
                WHERE c.id = [api_broker_cancel].request_id);
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        EXEC sys.sp_releaseapplock
            @Resource = N'loopbroker:[dbo]:janitor',
            @LockOwner = N'Session',
            @DbPrincipal = N'public';
        THROW;
    END CATCH;

    EXEC sys.sp_releaseapplock
        @Resource = N'loopbroker:[dbo]:janitor',
        @LockOwner = N'Session',
        @DbPrincipal = N'public';
    SELECT
        @expired AS expired,
        @buried AS buried,
        @purged AS purged;
    RETURN 0;
END;
GO
