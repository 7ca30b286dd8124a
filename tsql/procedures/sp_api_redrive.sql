SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_redrive: puts failed requests back.

Purpose
    For an admin. A redrive is a new request of the same owner with the same content, limits and completion procedure,
    whose redrive_of names the old one; the old one keeps its reply, and its buried row goes. A request is redriven
    once: after that its successor is the one to redrive.
Parameters
    @id                       one request that failed, expired or was cancelled; or, without it, at least one of
    @host                     those whose URL has this host
    @error_class              those with this error class
    @failed_before_ms, @failed_within_ms   those that got their reply longer ago than the first, and within the second
    @limit                    the most requests to put back, the oldest first, 1 to 1000
    @count                    output: how many were put back
Return codes
    0
Errors
    54075 the caller is no admin, 54079 a filter is missing or out of range, 54082 another redrive is under way
Locks
    A lock of its own against other redrives; the inserted rows and the removed buried ones. It takes part in the
    caller's transaction where there is one, and makes one where there is none.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_redrive]
    @id bigint = NULL,
    @host nvarchar(253) = NULL,
    @error_class nvarchar(64) = NULL,
    @failed_before_ms bigint = NULL,
    @failed_within_ms bigint = NULL,
    @limit int = 1000,
    @count int = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @own bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    DECLARE
        @admin bit,
        @now datetime2(7) = SYSUTCDATETIME(),
        @code int;
    DECLARE @again TABLE (
        request_id bigint NOT NULL PRIMARY KEY,
        message_id uniqueidentifier NOT NULL
    );
    SET @count = 0;

    EXEC @admin = [dbo].[sp_api_broker_identity];
    IF @admin = 0
        THROW 54075, N'Only db_owner and api_broker_admin may do this.', 1;
    IF (@id IS NULL AND @host IS NULL AND @error_class IS NULL AND @failed_before_ms IS NULL AND @failed_within_ms IS NULL)
        OR @failed_before_ms < 0
        OR @failed_within_ms < 1
        OR @limit IS NULL OR @limit NOT BETWEEN 1 AND 1000
        THROW 54079, N'A filter is missing or out of range; see the parameters in the header of the procedure.', 1;

    BEGIN TRY
        IF @own = 1
            BEGIN TRANSACTION;
        EXEC @code = sys.sp_getapplock
            @Resource = N'loopbroker:[dbo]:redrive',
            @LockMode = N'Exclusive',
            @LockOwner = N'Transaction',
            @LockTimeout = 5000,
            @DbPrincipal = N'public';
        IF @code < 0
            THROW 54082, N'Another redrive is under way. Call again.', 1;

        INSERT INTO @again (
            request_id,
            message_id)
        SELECT TOP (@limit)
            c.id,
            c.message_id
        FROM [dbo].[api_broker_call] AS c
        INNER JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK)
            ON r.request_id = c.id
        CROSS APPLY (
            SELECT LOWER(JSON_VALUE(CASE WHEN @host IS NOT NULL AND c.type = N'http' AND ISJSON(c.json_in) = 1 THEN c.json_in END, N'$.url')) AS url
        ) AS u
        CROSS APPLY (
            SELECT SUBSTRING(u.url, CHARINDEX(N'://', u.url) + 3, 4000) AS rest
        ) AS a
        CROSS APPLY (
            SELECT LEFT(a.rest, PATINDEX(N'%[/?#]%', a.rest + N'/') - 1) AS authority
        ) AS b
        WHERE (@id IS NULL OR c.id = @id)
            AND r.state <> N'completed'
            AND (@id IS NOT NULL OR r.state = N'failed')
            AND (@error_class IS NULL OR r.error_class = @error_class)
            AND (@failed_before_ms IS NULL OR DATEDIFF_BIG(millisecond, r.completed_at, @now) > @failed_before_ms)
            AND (@failed_within_ms IS NULL OR DATEDIFF_BIG(millisecond, r.completed_at, @now) <= @failed_within_ms)
            AND (@host IS NULL
                OR b.authority = LOWER(@host)
                OR b.authority LIKE REPLACE(LOWER(@host), N'_', N'[_]') + N':%' AND b.authority NOT LIKE N'[[]%')
            AND NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_call] AS d
                WHERE d.redrive_of = c.id)
        ORDER BY c.id;

        INSERT INTO [dbo].[api_broker_call] (
            type,
            json_in,
            body_in,
            lane,
            message_id,
            requested_by,
            app_user,
            app_role,
            session_id,
            transaction_id,
            created_at,
            expires_at,
            max_attempts,
            attempt_timeout_ms,
            on_complete,
            redrive_of)
        OUTPUT
            inserted.message_id,
            inserted.lane,
            CONCAT(N'{"id":', inserted.id, N'}'),
            inserted.created_at,
            inserted.created_at
        INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json,
            created_at,
            available_at)
        SELECT
            c.type,
            c.json_in,
            c.body_in,
            c.lane,
            NEWID(),
            c.requested_by,
            c.app_user,
            c.app_role,
            @@SPID,
            NULL,
            @now,
            DATEADD(second, DATEDIFF_BIG(second, c.created_at, c.expires_at), @now),
            c.max_attempts,
            c.attempt_timeout_ms,
            c.on_complete,
            c.id
        FROM @again AS g
        INNER JOIN [dbo].[api_broker_call] AS c
            ON c.id = g.request_id
        ORDER BY c.id;
        SET @count = @@ROWCOUNT;

        DELETE m
        FROM @again AS g
        INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
            ON m.id = g.message_id
        WHERE m.queue = N'api.deadletter'
        OPTION (LOOP JOIN, FORCE ORDER);
        IF @own = 1
            COMMIT TRANSACTION;
        RETURN 0;
    END TRY
    BEGIN CATCH
        IF @own = 1 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
END;
GO
