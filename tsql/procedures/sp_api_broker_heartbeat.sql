SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_heartbeat: a worker lives, and so do its leases.

Purpose
    Renews the worker's row, and every lease in @leases that is still its own: one that lapsed and that nobody else
    has claimed is, and lives again. Says which of them were called off, and stores what the worker knows about the
    hosts it calls.
Parameters
    @worker_id                as registered
    @busy                     how many slots are at work
    @lease_ms                 the new life of each lease, from now
    @leases                   a JSON array of objects with message_id and lock_id; NULL for none
    @hosts                    a JSON array of objects with host, state, failures, in_flight and open_for_ms: all that
                              there is to say about hosts; NULL when nothing has changed
Result set
    message_id, status: lost for a lease that was not renewed, cancelled for one that was and whose request was called
    off, and is to be ended and settled
Return codes
    0
    1 there is no such worker; register again
Errors
    54061 an argument out of range, 54063 malformed JSON
Locks
    The worker's row; then the leased rows, one by one by their key; then the worker's own rows of api_broker_host. A
    cancellation that is not committed is skipped.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_heartbeat]
    @worker_id nvarchar(200),
    @busy int,
    @lease_ms int,
    @leases nvarchar(max) = NULL,
    @hosts nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @until datetime2(7),
        @known int;
    DECLARE @mine TABLE (
        message_id uniqueidentifier NOT NULL,
        lock_id uniqueidentifier NOT NULL
    );
    DECLARE @renewed TABLE (message_id uniqueidentifier NOT NULL);
    DECLARE @cancelled TABLE (message_id uniqueidentifier NOT NULL);
    DECLARE @met TABLE (
        host nvarchar(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
        state nvarchar(16) NOT NULL,
        failures int NOT NULL,
        in_flight int NOT NULL,
        open_until datetime2(7) NULL
    );

    IF @busy IS NULL OR @busy < 0 OR @lease_ms IS NULL OR @lease_ms < 1
        THROW 54061, N'A heartbeat needs @busy of at least 0 and a positive @lease_ms.', 1;
    IF ISJSON(@leases) = 0
        THROW 54063, N'@leases must be a JSON array of objects with message_id and lock_id.', 1;
    IF ISJSON(@hosts) = 0
        THROW 54063, N'@hosts must be a JSON array of objects with host, state, failures, in_flight and open_for_ms.', 1;
    SET @until = DATEADD(millisecond, @lease_ms, @now);

    UPDATE [dbo].[api_broker_worker]
    SET heartbeat_at = @now,
        busy = @busy
    WHERE id = @worker_id;
    SET @known = @@ROWCOUNT;

    IF @leases IS NOT NULL
    BEGIN
        IF EXISTS (
                SELECT 1
                FROM OPENJSON(@leases)
                WITH (
                    message_id nvarchar(100) N'$.message_id',
                    lock_id nvarchar(100) N'$.lock_id'
                ) AS j
                WHERE TRY_CONVERT(uniqueidentifier, j.message_id) IS NULL
                    OR TRY_CONVERT(uniqueidentifier, j.lock_id) IS NULL)
            THROW 54063, N'@leases must be a JSON array of objects with message_id and lock_id.', 1;
        INSERT INTO @mine (
            message_id,
            lock_id)
        SELECT
            j.message_id,
            j.lock_id
        FROM OPENJSON(@leases)
        WITH (
            message_id uniqueidentifier N'$.message_id',
            lock_id uniqueidentifier N'$.lock_id'
        ) AS j;

        UPDATE m
        SET locked_until = @until,
            available_at = @until
        OUTPUT inserted.id
        INTO @renewed (message_id)
        FROM @mine AS l
        INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
            ON m.id = l.message_id
            AND m.lock_id = l.lock_id
        OPTION (LOOP JOIN, FORCE ORDER);

        IF EXISTS (SELECT 1 FROM [dbo].[api_broker_cancel] WITH (READCOMMITTEDLOCK, READPAST))
            INSERT INTO @cancelled (message_id)
            SELECT q.message_id
            FROM (
                SELECT
                    t.message_id,
                    TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id')) AS request_id
                FROM @renewed AS t
                INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (READCOMMITTEDLOCK, READPAST)
                    ON m.id = t.message_id
            ) AS q
            INNER JOIN [dbo].[api_broker_cancel] AS k WITH (READCOMMITTEDLOCK, READPAST)
                ON k.request_id = q.request_id;
    END;

    IF @hosts IS NOT NULL
    BEGIN
        INSERT INTO @met (
            host,
            state,
            failures,
            in_flight,
            open_until)
        SELECT
            j.host,
            MAX(j.state),
            MAX(COALESCE(j.failures, 0)),
            MAX(COALESCE(j.in_flight, 0)),
            MAX(CASE WHEN j.open_for_ms > 0 THEN DATEADD(millisecond, j.open_for_ms, @now) END)
        FROM OPENJSON(@hosts)
        WITH (
            host nvarchar(300) N'$.host',
            state nvarchar(16) N'$.state',
            failures int N'$.failures',
            in_flight int N'$.in_flight',
            open_for_ms int N'$.open_for_ms'
        ) AS j
        WHERE j.host <> N''
            AND j.state IN (N'closed', N'half_open', N'open')
        GROUP BY j.host;
        DELETE c
        FROM [dbo].[api_broker_host] AS c
        WHERE c.worker_id = @worker_id
            AND NOT EXISTS (SELECT 1 FROM @met AS t WHERE t.host = c.host);
        UPDATE c
        SET state = t.state,
            failures = t.failures,
            in_flight = t.in_flight,
            open_until = t.open_until,
            updated_at = @now
        FROM @met AS t
        INNER JOIN [dbo].[api_broker_host] AS c
            ON c.worker_id = @worker_id
            AND c.host = t.host;
        INSERT INTO [dbo].[api_broker_host] (
            worker_id,
            host,
            state,
            failures,
            in_flight,
            open_until,
            updated_at)
        SELECT
            @worker_id,
            t.host,
            t.state,
            t.failures,
            t.in_flight,
            t.open_until,
            @now
        FROM @met AS t
        WHERE NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_host] AS h
            WHERE h.worker_id = @worker_id
                AND h.host = t.host);
    END;

    SELECT
        l.message_id,
        N'lost' AS status
    FROM @mine AS l
    WHERE NOT EXISTS (
        SELECT 1
        FROM @renewed AS r
        WHERE r.message_id = l.message_id)
    UNION ALL
    SELECT
        k.message_id,
        N'cancelled'
    FROM @cancelled AS k;
    RETURN CASE WHEN @known = 0 THEN 1 ELSE 0 END;
END;
GO
