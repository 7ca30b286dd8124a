SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_heartbeat: a worker lives, and so do its leases.

Purpose
    Renews the worker's row, and every lease in @leases that is still its own: one that lapsed and that nobody else
    has claimed is, and lives again.
Parameters
    @worker_id                as registered
    @busy                     how many slots are at work
    @lease_ms                 the new life of each lease, from now
    @leases                   a JSON array of objects with message_id and lock_id; NULL for none
Result set
    message_id, status: the leases that were not renewed; lost is the only status yet, cancelled will be another
Return codes
    0
    1 there is no such worker; register again
Errors
    54061 an argument out of range, 54063 a malformed @leases
Locks
    The worker's row; then the leased rows, one by one by their key.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_heartbeat]
    @worker_id nvarchar(200),
    @busy int,
    @lease_ms int,
    @leases nvarchar(max) = NULL
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

    IF @busy IS NULL OR @busy < 0 OR @lease_ms IS NULL OR @lease_ms < 1
        THROW 54061, N'A heartbeat needs @busy of at least 0 and a positive @lease_ms.', 1;
    IF ISJSON(@leases) = 0
        THROW 54063, N'@leases must be a JSON array of objects with message_id and lock_id.', 1;
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
    END;

    SELECT
        l.message_id,
        N'lost' AS status
    FROM @mine AS l
    WHERE NOT EXISTS (
        SELECT 1
        FROM @renewed AS r
        WHERE r.message_id = l.message_id);
    RETURN CASE WHEN @known = 0 THEN 1 ELSE 0 END;
END;
GO
