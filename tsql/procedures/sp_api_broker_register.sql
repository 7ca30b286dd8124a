SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_register: a worker process announces itself.

Purpose
    Makes or replaces the row that callers read before they wait. A worker built for another version of these objects
    is refused, so an old worker on a new schema says so instead of failing at its first claim.
Parameters
    @worker_id                names one run of one process
    @host, @pid, @version     of the process
    @slots                    how many jobs it runs at once
    @types                    what it has handlers for, separated by commas
    @schema_version           the version of these objects that it was built for
Return codes
    0
Errors
    54060 another schema version, 54061 an argument out of range
Locks
    The worker's own row.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_register]
    @worker_id nvarchar(200),
    @host nvarchar(200),
    @pid int,
    @version nvarchar(64),
    @slots int,
    @types nvarchar(400),
    @schema_version int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @marked nvarchar(400) = N',' + REPLACE(@types, N' ', N'') + N',';

    IF @worker_id IS NULL OR @worker_id = N'' OR @host IS NULL OR @pid IS NULL OR @version IS NULL
        OR @slots IS NULL OR @slots < 1
        OR @types IS NULL OR LEN(@types) NOT BETWEEN 1 AND 398
        OR PATINDEX(N'%[^a-z0-9._,-]%', REPLACE(@types, N' ', N'') COLLATE Latin1_General_100_BIN2) > 0
        THROW 54061, N'A worker needs an id, a host, a pid, a version, at least one slot, and types such as http,file in at most 398 characters.', 1;
    IF NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_setting] AS s
            WHERE s.id = 1
                AND s.schema_version = @schema_version)
        THROW 54060, N'The worker was built for another version of the database objects. Deploy the matching version, or start the matching worker.', 1;

    UPDATE [dbo].[api_broker_worker]
    SET host = @host,
        pid = @pid,
        version = @version,
        started_at = @now,
        heartbeat_at = @now,
        slots = @slots,
        busy = 0,
        types = @marked
    WHERE id = @worker_id;
    IF @@ROWCOUNT = 0
        INSERT INTO [dbo].[api_broker_worker] (
            id,
            host,
            pid,
            version,
            started_at,
            heartbeat_at,
            slots,
            busy,
            types)
        VALUES (
            @worker_id,
            @host,
            @pid,
            @version,
            @now,
            @now,
            @slots,
            0,
            @marked);
    RETURN 0;
END;
GO
