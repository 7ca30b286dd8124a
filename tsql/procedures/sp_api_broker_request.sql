SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_request: a job of any type, from inside any transaction, with an answer or without.

Purpose
    sp_api_request for every handler: the JSON goes to it as it is, and its output comes back in @dataout. For
    @type = N'http' the JSON is checked like the parameters of sp_api_request: url, method, headers, body, binary.
Parameters
    @type                     names the handler: lower-case letters, digits, ".", "_" and "-"
    @json                     a JSON object or array
    @wait ... @on_commit      as in sp_api_request
    @dataout, @binaryout      the handler's output
    @id                       of the request, to collect by
    @error                    why there is no output
Return codes
    0 completed, whatever the status of the answer
    1 pending; collect by @id
    2 failed, expired or cancelled; see @error
    3 pending, and no live worker serves this type
    4 pending, and too many callers wait already
    5 not sent, nothing was stored; see @error
    6 unknown: the link broke after the request may have been stored; call again with the same idempotency key
Errors
    54001-54005, 54030-54043, 54062, 54072, 54074, and those of sp_api_request for N'http': misuse, or not
    allowed. Nothing was stored.
Locks
    The wait holds the caller's connection, transaction and locks for at most @wait. The procedure itself leaves no
    lock behind but a shared lock on the row of api_broker_secret where the caller's level keeps those; nobody ever
    writes that row. It never rolls back, returns no result set, and SQL Server restores its SET options and level.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_request]
    @type nvarchar(100),
    @json nvarchar(max),
    @wait int = 3000,
    @dataout nvarchar(max) = NULL OUTPUT,
    @id bigint = NULL OUTPUT,
    @body_binary varbinary(max) = NULL,
    @timeout_ms int = 30000,
    @max_attempts int = NULL,
    @priority nvarchar(100) = NULL,
    @idempotency_key nvarchar(4000) = NULL,
    @expires_ms int = NULL,
    @due_ms int = NULL,
    @on_complete nvarchar(4000) = NULL,
    @on_commit bit = 0,
    @binaryout varbinary(max) = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT
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
        @url nvarchar(max),
        @method nvarchar(100),
        @headers nvarchar(max),
        @body nvarchar(max),
        @binary bit,
        @lane nvarchar(200),
        @app_role nvarchar(100),
        @credential nvarchar(4000),
        @link nvarchar(128),
        @max_wait int,
        @max_body int,
        @max_timeout int,
        @max_waiters int,
        @alive_ms int,
        @secret varbinary(32),
        @code int;
    SELECT
        @dataout = NULL,
        @binaryout = NULL,
        @error = NULL,
        @id = NULL;

    BEGIN TRY
        IF XACT_STATE() = -1
            THROW 54001, N'The transaction is doomed (XACT_STATE() = -1) and can only be rolled back. Roll back, then call again.', 1;

        IF @trancount = 0 AND @options & 2 = 2
            SET IMPLICIT_TRANSACTIONS OFF;

        -- See sp_api_request: the caller's SNAPSHOT transaction must begin with a read of its own level.
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
            @max_attempts = COALESCE(@max_attempts, s.default_max_attempts),
            @expires_ms = COALESCE(@expires_ms, s.default_expires_ms)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;

        IF @max_wait IS NULL OR (@trancount > 0 AND @secret IS NULL)
            THROW 54005, N'The broker is not deployed completely: api_broker_setting or api_broker_secret has no row. Deploy again.', 1;
        IF @type IS NULL
            OR LEN(@type) NOT BETWEEN 1 AND 50
            OR PATINDEX(N'%[^a-z0-9._-]%', @type COLLATE Latin1_General_100_BIN2) > 0
            THROW 54041, N'@type must have 1 to 50 lower-case letters, digits, dots, underscores or hyphens.', 1;
        IF @json IS NULL OR ISJSON(@json) = 0
            THROW 54042, N'@json must be a JSON object or array.', 1;

        IF @type = N'http'
        BEGIN
            IF EXISTS (
                    SELECT 1
                    FROM OPENJSON(@json) AS j
                    WHERE j.[key] NOT IN (N'url', N'method', N'headers', N'body', N'binary', N'credential'))
                THROW 54042, N'@json for the type http may hold url, method, headers, body, binary and credential, and nothing else.', 1;
            SELECT
                @url = j.url,
                @method = COALESCE(j.method, N'GET'),
                @headers = COALESCE(j.headers, j.headers_text),
                @body = j.body,
                @binary = COALESCE(j.[binary], 0),
                @credential = j.credential
            FROM OPENJSON(@json)
            WITH (
                url nvarchar(max) N'$.url',
                method nvarchar(100) N'$.method',
                headers nvarchar(max) N'$.headers' AS JSON,
                headers_text nvarchar(max) N'$.headers',
                body nvarchar(max) N'$.body',
                [binary] bit N'$.binary',
                credential nvarchar(4000) N'$.credential'
            ) AS j;

            -- The inner call must see the caller's XACT_ABORT, which decides what a cancelled wait leaves behind.
            IF @options & 16384 = 16384
                SET XACT_ABORT ON;
            EXEC @code = [dbo].[sp_api_request]
                @url = @url,
                @method = @method,
                @headers = @headers,
                @body = @body,
                @body_binary = @body_binary,
                @wait = @wait,
                @timeout_ms = @timeout_ms,
                @max_attempts = @max_attempts,
                @priority = @priority,
                @idempotency_key = @idempotency_key,
                @credential = @credential,
                @expires_ms = @expires_ms,
                @due_ms = @due_ms,
                @on_complete = @on_complete,
                @on_commit = @on_commit,
                @error = @error OUTPUT,
                @id = @id OUTPUT,
                @binary = @binary;
            IF @code IN (0, 2)
                EXEC [dbo].[sp_api_broker_answer]
                    @id = @id,
                    @response_binary = @binaryout OUTPUT,
                    @dataout = @dataout OUTPUT;
            RETURN @code;
        END;

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
        IF DATALENGTH(@json) > @max_body OR DATALENGTH(@body_binary) > @max_body
            THROW 54040, N'The body is larger than the setting max_body_bytes; text counts two bytes a character.', 1;
        EXEC [dbo].[sp_api_broker_authorize]
            @type = @type,
            @on_complete = @on_complete,
            @app_role = @app_role OUTPUT;

        SET @lane = CONCAT(
            CASE
                WHEN @priority = N'low' THEN N'api.low'
                WHEN @priority = N'normal' OR @wait = 0 THEN N'api.normal'
                ELSE N'api.wait'
            END,
            N'.',
            @type);
        EXEC @code = [dbo].[sp_api_broker_send]
            @type = @type,
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
            @type = @type,
            @wait = @wait,
            @started = @started,
            @alive_ms = @alive_ms,
            @max_waiters = @max_waiters,
            @options = @options;
        IF @code <> 0
            RETURN @code;

        EXEC @code = [dbo].[sp_api_broker_answer]
            @id = @id,
            @response_binary = @binaryout OUTPUT,
            @error = @error OUTPUT,
            @dataout = @dataout OUTPUT;
        RETURN @code;
    END TRY
    BEGIN CATCH
        SET XACT_ABORT OFF; -- thrown under ON, an error would doom the caller's transaction
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() BETWEEN 54000 AND 54099 OR XACT_STATE() = -1 OR @@TRANCOUNT < @trancount
            THROW;
        SET @error = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        RETURN CASE WHEN @id IS NULL THEN 5 ELSE 1 END;
    END CATCH;
END;
GO
