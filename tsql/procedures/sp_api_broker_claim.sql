SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_claim: leases due requests to a worker.

Purpose
    Takes at most @n rows, lane by lane (api.wait, api.normal, api.low), within a lane in the order (available_at,
    created_at), raises their attempts and gives them a lease. Each lane is one UPDATE that commits by itself, before
    anything in the rows is looked at; only then is the payload parsed, leniently, and the call joined.

    A type has lanes of its own, api.wait.T and so on; http has those without a suffix. So a worker is never given
    what it has no handler for, and a type that nobody serves holds nobody up. Within a lane the types come in an order
    that begins elsewhere each time, so that none of them starves.

    A claim moves available_at to the end of the lease. The claim's range ends at the present moment, so leased rows lie
    outside it: thousands of them are not read again by every claim, renewal moves them on, and a lease that lapses
    makes its row due again with nothing to sweep. The price is one move in the clustered index per claim; the row is
    narrow. locked_until is checked all the same, for programs that set it alone.

    The plain comparison of the queue name is what the seek uses. The second one is exact: "=" pads with blanks under
    every collation, and a hand-made column may have a case-insensitive one.
Parameters
    @n                        the most rows to take
    @lease_ms                 the life of each lease
    @types                    the types the worker serves, separated by commas
Result set
    message_id, lock_id, lane, attempts, queue_ms (due until claimed), payload_json, request_id, type, json_in, body_in,
    load, max_attempts, attempt_timeout_ms, expires_in_ms, expired, requested_by, created_at, age_ms (since it was
    sent). request_id is NULL where the payload is not one of ours, type where the call was purged. load = 1 says that
    json_in and body_in were left out because they are big; see sp_api_broker_load. expired = 1 says that the request
    must not be started any more.
Return codes
    0
    1 the same, and a completion procedure is due; see sp_api_broker_completions
Errors
    54061 an argument out of range
Locks
    Update locks on the rows it takes, skipping what others have locked. READ COMMITTED is set here because READPAST
    is refused under other levels (650), which leak through connection pools.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_claim]
    @n int,
    @lease_ms int,
    @types nvarchar(400) = N'http'
AS
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @until datetime2(7),
        @lock_id uniqueidentifier = NEWID(),
        @left int = @n,
        @lane tinyint = 1,
        @queue nvarchar(200),
        @kinds int = 1,
        @first int = 0,
        @kind int,
        @suffix nvarchar(51) = N'';
    DECLARE @claimed TABLE (
        message_id uniqueidentifier NOT NULL,
        lane tinyint NOT NULL,
        suffix nvarchar(51) NOT NULL,
        due_at datetime2(7) NOT NULL,
        created_at datetime2(7) NOT NULL,
        attempts int NOT NULL,
        payload_json nvarchar(max) NOT NULL
    );
    DECLARE @served TABLE (
        ordinal int IDENTITY(0, 1) NOT NULL,
        suffix nvarchar(51) NOT NULL
    );

    IF @n IS NULL OR @n NOT BETWEEN 1 AND 10000 OR @lease_ms IS NULL OR @lease_ms < 1
        THROW 54061, N'A claim needs @n from 1 to 10000 and a positive @lease_ms.', 1;
    SET @until = DATEADD(millisecond, @lease_ms, @now);

    IF @types IS NULL OR @types <> N'http'
    BEGIN
        IF @types IS NULL
            OR @types = N''
            OR PATINDEX(N'%[^a-z0-9._,-]%', @types COLLATE Latin1_General_100_BIN2) > 0
            OR N',' + @types + N',' LIKE N'%,' + REPLICATE(N'[^,]', 51) + N'%'
            THROW 54061, N'A claim needs @types such as http,file: names of at most 50 characters, separated by commas.', 1;
        INSERT INTO @served (suffix)
        SELECT DISTINCT CASE WHEN j.[value] = N'http' THEN N'' ELSE N'.' + j.[value] END
        FROM OPENJSON(N'["' + REPLACE(@types, N',', N'","') + N'"]') AS j
        WHERE j.[value] <> N'';
        SET @kinds = @@ROWCOUNT;
        IF @kinds = 0
            THROW 54061, N'A claim needs @types such as http,file: names of at most 50 characters, separated by commas.', 1;
        SET @first = ABS(CHECKSUM(NEWID()) % @kinds);
    END;

    WHILE @lane <= 3 AND @left > 0
    BEGIN
        SET @kind = 0;
        WHILE @kind < @kinds AND @left > 0
        BEGIN
            IF @types <> N'http'
                SELECT @suffix = s.suffix
                FROM @served AS s
                WHERE s.ordinal = (@first + @kind) % @kinds;
            SET @queue = CHOOSE(@lane, N'api.wait', N'api.normal', N'api.low') + @suffix;
            WITH ready AS (
                SELECT TOP (@left)
                    m.id,
                    m.payload_json,
                    m.created_at,
                    m.available_at,
                    m.locked_until,
                    m.lock_id,
                    m.attempts
                FROM [dbo].[asyncresponse_transport_messages] AS m WITH (UPDLOCK, ROWLOCK, READPAST)
                WHERE m.queue = @queue
                    AND m.queue + N'.' = @queue + N'.' COLLATE Latin1_General_100_BIN2
                    AND m.available_at <= @now
                    AND (m.locked_until IS NULL OR m.locked_until <= @now)
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
                @lane,
                @suffix,
                deleted.available_at,
                inserted.created_at,
                inserted.attempts,
                inserted.payload_json
            INTO @claimed (
                message_id,
                lane,
                suffix,
                due_at,
                created_at,
                attempts,
                payload_json);
            SET @left -= @@ROWCOUNT;
            SET @kind += 1;
        END;
        SET @lane += 1;
    END;

    SELECT
        q.message_id,
        @lock_id AS lock_id,
        CHOOSE(q.lane, N'api.wait', N'api.normal', N'api.low') + q.suffix AS lane,
        q.attempts,
        DATEDIFF_BIG(millisecond, q.due_at, @now) AS queue_ms,
        q.payload_json,
        q.request_id,
        c.type,
        CASE WHEN DATALENGTH(c.json_in) + COALESCE(DATALENGTH(c.body_in), 0) <= 65536 THEN c.json_in END AS json_in,
        CASE WHEN DATALENGTH(c.json_in) + COALESCE(DATALENGTH(c.body_in), 0) <= 65536 THEN c.body_in END AS body_in,
        CONVERT(bit, CASE WHEN DATALENGTH(c.json_in) + COALESCE(DATALENGTH(c.body_in), 0) > 65536 THEN 1 ELSE 0 END) AS [load],
        c.max_attempts,
        c.attempt_timeout_ms,
        DATEDIFF_BIG(millisecond, @now, c.expires_at) AS expires_in_ms,
        CONVERT(bit, CASE WHEN q.attempts = 1 AND c.expires_at <= @now THEN 1 ELSE 0 END) AS expired,
        c.requested_by,
        q.created_at,
        DATEDIFF_BIG(millisecond, q.created_at, @now) AS age_ms
    FROM (
        SELECT
            t.message_id,
            t.lane,
            t.suffix,
            t.due_at,
            t.created_at,
            t.attempts,
            t.payload_json,
            TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(t.payload_json) = 1 THEN t.payload_json END, N'$.id')) AS request_id
        FROM @claimed AS t
    ) AS q
    LEFT JOIN [dbo].[api_broker_call] AS c
        ON c.id = q.request_id
    ORDER BY
        q.lane,
        q.due_at,
        q.created_at;

    IF EXISTS (
            SELECT 1
            FROM [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
            WHERE m.queue = N'api.completion'
                AND m.available_at <= @now)
        RETURN 1;
    RETURN 0;
END;
GO
