SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_request: an HTTP request, from inside any transaction, with an answer or without.

Purpose
    The request leaves through a second connection that commits at once; a worker makes it; the answer comes back
    through a row. With @wait = 0 nobody waits, and the answer is collected later or not at all.
Parameters
    @url                      http or https, printable ASCII, no user info
    @method                   GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
    @headers                  a flat JSON object
    @body, @body_binary       one of them at most
    @wait                     how long to wait for the answer, in ms; 0 does not wait
    @timeout_ms               bounds one attempt in the worker
    @max_attempts             how often it may be started; by default the setting default_max_attempts
    @priority                 N'normal' or N'low'; by default callers who wait go first
    @idempotency_key          the same key and request again get the first request
    @credential               the name of a credential; its secret lives with the worker
    @expires_ms               how long it may wait to be started; by default the setting default_expires_ms
    @due_ms                   how long it is held back before it may be started
    @on_complete              the name of a registered completion procedure, which runs once the reply is there
    @on_commit                1 sends with the caller's commit instead of at once; @wait must be 0
    @status, @response, @response_headers, @response_binary   the answer; text or bytes
    @error                    why there is none
    @id                       of the request, to collect by
    @binary                   1 wants the answer's bytes as they came, in @response_binary, text or not
Return codes
    0 completed, whatever the status of the answer
    1 pending; collect by @id
    2 failed, expired or cancelled; see @error
    3 pending, and no live worker serves this type
    4 pending, and too many callers wait already
    5 not sent, nothing was stored; see @error
    6 unknown: the link broke after the request may have been stored; call again with the same idempotency key
Errors
    54001-54005, 54010-54015, 54020-54027, 54030-54040, 54043, 54062, 54070, 54071, 54073, 54074: misuse, or not
    allowed. Nothing was stored.
Locks
    The wait holds the caller's connection, transaction and locks for at most @wait. The procedure itself leaves no
    lock behind but a shared lock on the row of api_broker_secret where the caller's level keeps those; nobody ever
    writes that row. It never rolls back, returns no result set, and SQL Server restores its SET options and level.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_request]
    @url nvarchar(max),
    @method nvarchar(100) = N'GET',
    @headers nvarchar(max) = NULL,
    @body nvarchar(max) = NULL,
    @body_binary varbinary(max) = NULL,
    @wait int = 3000,
    @timeout_ms int = 30000,
    @max_attempts int = NULL,
    @priority nvarchar(100) = NULL,
    @idempotency_key nvarchar(4000) = NULL,
    @credential nvarchar(4000) = NULL,
    @expires_ms int = NULL,
    @due_ms int = NULL,
    @on_complete nvarchar(4000) = NULL,
    @on_commit bit = 0,
    @status int = NULL OUTPUT,
    @response nvarchar(max) = NULL OUTPUT,
    @response_headers nvarchar(max) = NULL OUTPUT,
    @response_binary varbinary(max) = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT,
    @id bigint = NULL OUTPUT,
    @binary bit = 0
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @options int = @@OPTIONS,
        @trancount int = @@TRANCOUNT,
        @started datetime2(7) = SYSUTCDATETIME();
    SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
    SET XACT_ABORT, NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET LOCK_TIMEOUT 1000;

    DECLARE
        @scheme nvarchar(5),
        @host nvarchar(253),
        @port int,
        @path nvarchar(4000),
        @app_role nvarchar(100),
        @json nvarchar(max),
        @lane nvarchar(200),
        @link nvarchar(128),
        @max_wait int,
        @max_body int,
        @max_timeout int,
        @max_waiters int,
        @alive_ms int,
        @sensitive bit,
        @secret varbinary(32),
        @code int;
    SELECT
        @status = NULL,
        @response = NULL,
        @response_headers = NULL,
        @response_binary = NULL,
        @error = NULL,
        @id = NULL;

    BEGIN TRY
        IF XACT_STATE() = -1
            THROW 54001, N'The transaction is doomed (XACT_STATE() = -1) and can only be rolled back. Roll back, then call again.', 1;

        IF @trancount = 0 AND @options & 2 = 2
            SET IMPLICIT_TRANSACTIONS OFF;

        -- A SNAPSHOT transaction begins with its first read. It must be one of SNAPSHOT's own, else the caller's next
        -- statement fails with 3951; so the secret is read at the caller's level, and only then does the level change.
        IF @trancount > 0
            SELECT @secret = s.secret
            FROM [dbo].[api_broker_secret] AS s
            WHERE s.id = 1;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

        SELECT
            @link = s.link_server,
            @max_wait = s.max_wait_ms,
            @max_body = s.max_body_bytes,
            @max_timeout = s.max_timeout_ms,
            @max_waiters = s.max_waiters,
            @alive_ms = s.worker_alive_ms,
            @sensitive = s.allow_sensitive_headers,
            @max_attempts = COALESCE(@max_attempts, s.default_max_attempts),
            @expires_ms = COALESCE(@expires_ms, s.default_expires_ms)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;

        IF @max_wait IS NULL OR (@trancount > 0 AND @secret IS NULL)
            THROW 54005, N'The broker is not deployed completely: api_broker_setting or api_broker_secret has no row. Deploy again.', 1;

        -- What was asked for.
        EXEC [dbo].[sp_api_broker_check_http]
            @url = @url,
            @method = @method OUTPUT,
            @headers = @headers,
            @sensitive = @sensitive,
            @scheme = @scheme OUTPUT,
            @host = @host OUTPUT,
            @port = @port OUTPUT,
            @path = @path OUTPUT;

        -- Under which limits.
        IF @wait IS NULL OR @wait NOT BETWEEN 0 AND @max_wait
            THROW 54030, N'@wait must be from 0 to the setting max_wait_ms, in milliseconds.', 1;
        IF @timeout_ms IS NULL OR @timeout_ms NOT BETWEEN 1 AND @max_timeout
            THROW 54031, N'@timeout_ms must be from 1 to the setting max_timeout_ms.', 1;
        IF @max_attempts NOT BETWEEN 1 AND 100
            THROW 54032, N'@max_attempts must be from 1 to 100.', 1;
        IF @priority NOT IN (N'normal', N'low')
            THROW 54033, N'@priority must be NULL, normal or low.', 1;
        IF @idempotency_key IS NOT NULL
            AND (DATALENGTH(@idempotency_key) NOT BETWEEN 2 AND 400
                OR PATINDEX(N'%[^ -~]%', @idempotency_key COLLATE Latin1_General_100_BIN2) > 0
                OR LEFT(@idempotency_key, 1) = N' '
                OR RIGHT(@idempotency_key, 1) = N' ')
            THROW 54034, N'@idempotency_key must have 1 to 200 printable ASCII characters, with no blank at either end.', 1;
        IF @due_ms < 0
            THROW 54037, N'@due_ms must not be negative.', 1;
        IF @expires_ms < 1 OR @expires_ms <= @due_ms
            THROW 54036, N'@expires_ms must be at least 1 and more than @due_ms.', 1;
        IF @on_commit IS NULL
            THROW 54043, N'@on_commit must be 0 or 1.', 1;
        IF @on_commit = 1 AND @wait > 0
            THROW 54038, N'@on_commit = 1 sends with the commit, so there is nothing to wait for: @wait must be 0.', 1;
        IF @body IS NOT NULL AND @body_binary IS NOT NULL
            THROW 54039, N'Give @body or @body_binary, not both.', 1;
        IF DATALENGTH(@body) > @max_body OR DATALENGTH(@body_binary) > @max_body
            THROW 54040, N'The body is larger than the setting max_body_bytes; text counts two bytes a character.', 1;
        EXEC [dbo].[sp_api_broker_authorize]
            @type = N'http',
            @scheme = @scheme,
            @host = @host,
            @port = @port,
            @path = @path,
            @method = @method,
            @credential = @credential,
            @on_complete = @on_complete,
            @app_role = @app_role OUTPUT;

        SELECT
            @lane = CASE
                WHEN @priority = N'low' THEN N'api.low'
                WHEN @priority = N'normal' OR @wait = 0 THEN N'api.normal'
                ELSE N'api.wait'
            END,
            @json = CONCAT(
                N'{"url":"', @url,
                N'","method":"', @method, N'"',
                N',"headers":' + @headers,
                N',"body":"' + STRING_ESCAPE(@body, N'json') + N'"',
                N',"idempotency_key":"' + STRING_ESCAPE(@idempotency_key, N'json') + N'"',
                N',"credential":"' + @credential + N'"',
                CASE WHEN @binary = 1 THEN N',"binary":true' END,
                N'}');

        EXEC @code = [dbo].[sp_api_broker_send]
            @type = N'http',
            @json = @json,
            @body = @body_binary,
            @lane = @lane,
            @due_ms = @due_ms,
            @expires_ms = @expires_ms,
            @max_attempts = @max_attempts,
            @attempt_timeout_ms = @timeout_ms,
            @idempotency_key = @idempotency_key,
            @app_role = @app_role,
            @on_complete = @on_complete,
            @on_commit = @on_commit,
            @link = @link,
            @secret = @secret,
            @id = @id OUTPUT,
            @error = @error OUTPUT;
        IF @code <> 0
            RETURN @code;
        IF @wait = 0 AND @idempotency_key IS NULL
            RETURN 1;

        EXEC @code = [dbo].[sp_api_broker_wait]
            @id = @id,
            @type = N'http',
            @wait = @wait,
            @started = @started,
            @alive_ms = @alive_ms,
            @max_waiters = @max_waiters,
            @options = @options;
        IF @code <> 0
            RETURN @code;

        EXEC @code = [dbo].[sp_api_broker_answer]
            @id = @id,
            @status = @status OUTPUT,
            @response = @response OUTPUT,
            @response_headers = @response_headers OUTPUT,
            @response_binary = @response_binary OUTPUT,
            @error = @error OUTPUT;
        RETURN @code;
    END TRY
    BEGIN CATCH
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() BETWEEN 54000 AND 54099 OR XACT_STATE() = -1 OR @@TRANCOUNT < @trancount
            THROW;
        SET @error = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        RETURN CASE WHEN @id IS NULL THEN 5 ELSE 1 END;
    END CATCH;
END;
GO
