SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_janitor: what nobody else does.

Purpose
    One process at a time, elected by an application lock without waiting; every worker may call it.
    Expires: due requests at the head of each lane whose time to be started has passed.
    Buries: requests whose last allowed attempt ended with its worker. A lease that lapsed with attempts left needs
    nothing: its row is due again by itself.
    Purges: answered requests past retention_hours with their replies, requests that are as old and were never
    answered or queued, buried rows, idempotency keys, and rows of workers that are gone for a day.
    Each kind touches at most @batch rows a call, and looks at no more than @batch rows to find them.
Parameters
    @batch                    1 to 1000
Result set
    expired, buried, purged: how many; none when somebody else is at it
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
        @elected int,
        @lane tinyint = 1,
        @queue nvarchar(200),
        @expired int = 0,
        @buried int = 0,
        @purged int = 0,
        @answer_before datetime2(7),
        @buried_before datetime2(7);
    DECLARE @overdue TABLE (
        message_id uniqueidentifier NOT NULL,
        request_id bigint NOT NULL,
        attempts int NOT NULL,
        expired bit NOT NULL
    );
    DECLARE @settled TABLE (message_id uniqueidentifier NOT NULL);
    DECLARE @old TABLE (request_id bigint NOT NULL);

    IF @batch IS NULL OR @batch NOT BETWEEN 1 AND 1000
        THROW 54061, N'The janitor needs @batch from 1 to 1000.', 1;
    EXEC @elected = sys.sp_getapplock
        @Resource = N'loopbroker:[dbo]:janitor',
        @LockMode = N'Exclusive',
        @LockOwner = N'Session',
        @LockTimeout = 0,
        @DbPrincipal = N'public';
    IF @elected < 0
        RETURN 1;

    BEGIN TRY
        WHILE @lane <= 3
        BEGIN
            SET @queue = CHOOSE(@lane, N'api.wait', N'api.normal', N'api.low');
            DELETE FROM @overdue;
            INSERT INTO @overdue (
                message_id,
                request_id,
                attempts,
                expired)
            SELECT
                h.id,
                c.id,
                h.attempts,
                CASE WHEN h.attempts = 0 THEN 1 ELSE 0 END
            FROM (
                SELECT TOP (@batch)
                    m.id,
                    m.attempts,
                    TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id')) AS request_id
                FROM [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
                WHERE m.queue = @queue
                    AND m.queue + N'.' = @queue + N'.' COLLATE Latin1_General_100_BIN2
                    AND m.available_at <= @now
                    AND (m.locked_until IS NULL OR m.locked_until <= @now)
                ORDER BY
                    m.available_at,
                    m.created_at
            ) AS h
            INNER JOIN [dbo].[api_broker_call] AS c
                ON c.id = h.request_id
            WHERE (h.attempts = 0 AND c.expires_at <= @now)
                OR h.attempts >= c.max_attempts;

            IF EXISTS (SELECT 1 FROM @overdue)
            BEGIN
                BEGIN TRANSACTION;
                DELETE FROM @settled;
                DELETE m
                OUTPUT deleted.id
                INTO @settled (message_id)
                FROM @overdue AS o
                INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
                    ON m.id = o.message_id
                    AND m.attempts = o.attempts
                WHERE o.expired = 1
                    AND (m.locked_until IS NULL OR m.locked_until <= @now)
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @expired += @@ROWCOUNT;

                UPDATE m
                SET queue = N'api.deadletter',
                    available_at = @now,
                    locked_until = NULL,
                    lock_id = NULL,
                    dead_letter_reason = N'The last allowed attempt ended with its worker.'
                OUTPUT inserted.id
                INTO @settled (message_id)
                FROM @overdue AS o
                INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
                    ON m.id = o.message_id
                    AND m.attempts = o.attempts
                WHERE o.expired = 0
                    AND (m.locked_until IS NULL OR m.locked_until <= @now)
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @buried += @@ROWCOUNT;

                INSERT INTO [dbo].[api_broker_reply] (
                    request_id,
                    state,
                    error_class,
                    error_message,
                    attempts,
                    worker,
                    completed_at)
                SELECT
                    o.request_id,
                    CASE WHEN o.expired = 1 THEN N'expired' ELSE N'failed' END,
                    CASE WHEN o.expired = 1 THEN N'expired' ELSE N'attempts_exhausted' END,
                    CASE
                        WHEN o.expired = 1 THEN N'The time to start the request had passed before a worker could.'
                        ELSE N'The last allowed attempt ended with its worker.'
                    END,
                    o.attempts,
                    N'janitor',
                    @now
                FROM @overdue AS o
                WHERE EXISTS (
                        SELECT 1
                        FROM @settled AS s
                        WHERE s.message_id = o.message_id)
                    AND NOT EXISTS (
                        SELECT 1
                        FROM [dbo].[api_broker_reply] AS r
                        WHERE r.request_id = o.request_id);
                COMMIT TRANSACTION;
            END;
            SET @lane += 1;
        END;

        -- The lowest ids are the oldest; only the first @batch of them are looked at.
        SELECT
            @answer_before = DATEADD(hour, -s.retention_hours, @now),
            @buried_before = DATEADD(hour, -s.dead_letter_hours, @now)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;
        INSERT INTO @old (request_id)
        SELECT h.id
        FROM (
            SELECT TOP (@batch)
                c.id,
                c.message_id,
                c.created_at,
                c.expires_at
            FROM [dbo].[api_broker_call] AS c WITH (READCOMMITTEDLOCK, READPAST)
            ORDER BY c.id
        ) AS h
        LEFT JOIN [dbo].[api_broker_reply] AS r
            ON r.request_id = h.id
        WHERE h.created_at < @answer_before
            AND (r.completed_at < @answer_before
                OR (r.request_id IS NULL
                    AND h.expires_at < @answer_before
                    AND NOT EXISTS (
                        SELECT 1
                        FROM [dbo].[asyncresponse_transport_messages] AS m
                        WHERE m.id = h.message_id)));
        IF EXISTS (SELECT 1 FROM @old)
        BEGIN
            BEGIN TRANSACTION;
            DELETE r
            FROM @old AS o
            INNER JOIN [dbo].[api_broker_reply] AS r WITH (ROWLOCK)
                ON r.request_id = o.request_id
            OPTION (LOOP JOIN, FORCE ORDER);
            DELETE c
            FROM @old AS o
            INNER JOIN [dbo].[api_broker_call] AS c WITH (ROWLOCK)
                ON c.id = o.request_id
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @purged = @@ROWCOUNT;
            COMMIT TRANSACTION;
        END;

        DELETE TOP (@batch) FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
        WHERE queue = N'api.deadletter'
            AND available_at < @buried_before;
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_idempotency] WITH (ROWLOCK, READPAST)
        WHERE expires_at < @now;
        SET @purged += @@ROWCOUNT;
        DELETE TOP (@batch) FROM [dbo].[api_broker_worker] WITH (ROWLOCK, READPAST)
        WHERE heartbeat_at < DATEADD(day, -1, @now);
        SET @purged += @@ROWCOUNT;
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
