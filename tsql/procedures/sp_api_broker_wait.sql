SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_wait: waits for a reply, for a bounded time.

Purpose
    Internal. Looks once for one reply, or for some of a batch; with @wait > 0 asks whether a live worker serves the type, takes one of the waiter slots, and
    polls the reply by its primary key. WAITFOR moves in steps of 10/3 ms, so the pauses are 3, 3, 7, 10, ... 100 ms,
    and never one past the deadline.
Parameters
    @id, @type                of the request
    @wait                     in ms, 0 looks once
    @started                  when the caller's call began; the deadline is @wait later
    @alive_ms, @max_waiters   settings
    @batch_id, @want          instead of @id: of a batch, and how many of its replies to wait for
    @options                  @@OPTIONS of the caller: under XACT_ABORT ON a cancelled wait must end the transaction
Return codes
    0 the reply is there
    1 the time is over
    3 no live worker serves the type
    4 every waiter slot is taken
Errors
    None of its own.
Locks
    A slot is an application lock owned by the transaction, the caller's or a short one of its own, released before
    this returns; an attention ends the own transaction, so it cannot leak one. Polling skips a reply that is being
    written, and takes row locks for the moment of the read only, whatever the session's level.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_wait]
    @id bigint,
    @type nvarchar(50),
    @wait int,
    @started datetime2(7),
    @alive_ms int,
    @max_waiters int,
    @options int,
    @batch_id uniqueidentifier = NULL,
    @want int = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @there int,
        @need int = COALESCE(@want, 1),
        @own bit = 0,
        @code int = 1,
        @slot int,
        @tries int = 0,
        @granted int = -1,
        @resource nvarchar(255),
        @deadline datetime2(7),
        @left int,
        @slept int = 0,
        @ticks int = 1,
        @step int,
        @pause datetime;

    IF @batch_id IS NULL
        SELECT @there = COUNT(*)
        FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
        WHERE r.request_id = @id;
    ELSE
        SELECT @there = COUNT(*)
        FROM [dbo].[api_broker_batch] AS b WITH (READCOMMITTEDLOCK)
        INNER JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
            ON r.request_id = b.request_id
        WHERE b.batch_id = @batch_id;
    IF @there >= @need
        RETURN 0;
    IF @wait = 0
        RETURN 1;

    IF NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_worker] AS w WITH (NOLOCK)
            WHERE w.heartbeat_at > DATEADD(millisecond, -@alive_ms, SYSUTCDATETIME())
                AND CHARINDEX(N',' + @type + N',', w.types) > 0)
        RETURN 3;

    IF @@TRANCOUNT = 0
    BEGIN
        SET XACT_ABORT ON;
        BEGIN TRANSACTION;
        SET @own = 1;
    END
    ELSE IF @options & 16384 = 16384
        SET XACT_ABORT ON;

    SET @slot = @@SPID % @max_waiters;
    WHILE @tries < @max_waiters
    BEGIN
        SET @resource = CONCAT(N'loopbroker:[dbo]:waiter:', @slot);
        EXEC @granted = sys.sp_getapplock
            @Resource = @resource,
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 0,
            @DbPrincipal = N'api_broker_caller';
        IF @granted >= 0
            BREAK;
        SET @slot = (@slot + 1) % @max_waiters;
        SET @tries += 1;
    END;
    IF @granted < 0
    BEGIN
        IF @own = 1
            COMMIT TRANSACTION;
        RETURN 4;
    END;

    SET @deadline = DATEADD(millisecond, @wait, @started);
    WHILE @code = 1
    BEGIN
        -- The clock may be set back while we wait; the sum of the pauses bounds the wait then.
        SET @left = DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline);
        IF @left > @wait - @slept
            SET @left = @wait - @slept;
        IF @left < 3
            BREAK;
        SET @step = (@ticks * 10 + 1) / 3;
        IF @step > @left
            SET @step = (@left * 3 / 10 * 10 + 1) / 3;
        SET @pause = DATEADD(millisecond, @step, 0);
        WAITFOR DELAY @pause;

        IF @batch_id IS NULL
            SELECT @there = COUNT(*)
            FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
            WHERE r.request_id = @id;
        ELSE
            SELECT @there = COUNT(*)
            FROM [dbo].[api_broker_batch] AS b WITH (READCOMMITTEDLOCK)
            INNER JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
                ON r.request_id = b.request_id
            WHERE b.batch_id = @batch_id;
        IF @there >= @need
            SET @code = 0;
        IF @slept > 0 AND @ticks < 30
            SET @ticks += 1;
        SET @slept += @step;
    END;

    EXEC sys.sp_releaseapplock
        @Resource = @resource,
        @LockOwner = N'Transaction',
        @DbPrincipal = N'api_broker_caller';
    IF @own = 1
        COMMIT TRANSACTION;
    RETURN @code;
END;
GO
