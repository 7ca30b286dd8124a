SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_request_batch: many HTTP requests that leave together, with one wait for all or any.

Purpose
    Three calls with three waits inside one transaction hold its locks three times as long. A batch leaves in one call
    over the loopback, all of it or nothing, and is waited for once.
Parameters
    @requests                 a JSON array of at most 1,000 objects: url, and if wanted method, headers, body or
                              body_base64, idempotency_key, credential, timeout_ms, binary; as in sp_api_request
    @wait                     how long to wait for the answers, in ms; 0 does not wait
    @mode                     N'all' or N'any': what the wait is for
    @results                  a JSON array in the order of the requests: ordinal (from 0), id, state (pending, completed,
                              failed, expired, cancelled), status, headers, body or body_base64, error_class, error
    @timeout_ms, @max_attempts, @priority, @expires_ms   as in sp_api_request, for all of them
    @error                    why the batch was not sent
    @batch_id                 of the batch
Return codes
    0 completed: every request, or with N'any' at least one
    1 pending; collect by the ids in @results
    2 everything waited for is answered, and a request failed, expired or was cancelled; see @results
    3 pending, and no live worker serves http
    4 pending, and too many callers wait already
    5 not sent, nothing was stored; see @error
    6 unknown: the link broke after the batch may have been stored
Errors
    54001-54005, 54030-54033, 54035, 54036, 54062, 54076, 54077, 54078: misuse, or not allowed. Nothing was stored.
    54076 names the item and says what sp_api_request would say of it.
Locks
    Those of sp_api_request.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_request_batch]
    @requests nvarchar(max),
    @wait int = 3000,
    @mode nvarchar(10) = N'all',
    @results nvarchar(max) = NULL OUTPUT,
    @timeout_ms int = 30000,
    @max_attempts int = NULL,
    @priority nvarchar(100) = NULL,
    @expires_ms int = NULL,
    @error nvarchar(2048) = NULL OUTPUT,
    @batch_id uniqueidentifier = NULL OUTPUT
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
        @ordinal int = 0,
        @count int,
        @url nvarchar(max),
        @method nvarchar(100),
        @headers nvarchar(max),
        @body nvarchar(max),
        @body_base64 nvarchar(max),
        @key nvarchar(4000),
        @credential nvarchar(4000),
        @attempt_ms int,
        @binary bit,
        @item nvarchar(max),
        @text nvarchar(2048),
        @json nvarchar(max),
        @scheme nvarchar(5),
        @host nvarchar(253),
        @port int,
        @path nvarchar(4000),
        @app_role nvarchar(100),
        @lane nvarchar(200),
        @link nvarchar(128),
        @max_wait int,
        @max_body int,
        @max_timeout int,
        @max_waiters int,
        @alive_ms int,
        @sensitive bit,
        @secret varbinary(32),
        @sent bigint,
        @want int,
        @code int;
    DECLARE @items TABLE (
        ordinal int NOT NULL PRIMARY KEY,
        item nvarchar(max) NOT NULL,
        is_object bit NOT NULL,
        json_in nvarchar(max) NULL,
        body_base64 nvarchar(max) NULL,
        timeout_ms int NULL,
        [key] nvarchar(200) NULL
    );
    SELECT
        @results = NULL,
        @error = NULL,
        @batch_id = NULL;

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
            @sensitive = s.allow_sensitive_headers,
            @max_attempts = COALESCE(@max_attempts, s.default_max_attempts),
            @expires_ms = COALESCE(@expires_ms, s.default_expires_ms)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;

        IF @max_wait IS NULL OR (@trancount > 0 AND @secret IS NULL)
            THROW 54005, N'The broker is not deployed completely: api_broker_setting or api_broker_secret has no row. Deploy again.', 1;
        IF @wait IS NULL OR @wait NOT BETWEEN 0 AND @max_wait
            THROW 54030, N'@wait must be from 0 to the setting max_wait_ms, in milliseconds.', 1;
        IF @timeout_ms IS NULL OR @timeout_ms NOT BETWEEN 1 AND @max_timeout
            THROW 54031, N'@timeout_ms must be from 1 to the setting max_timeout_ms.', 1;
        IF @max_attempts NOT BETWEEN 1 AND 100
            THROW 54032, N'@max_attempts must be from 1 to 100.', 1;
        IF @priority NOT IN (N'normal', N'low')
            THROW 54033, N'@priority must be NULL, normal or low.', 1;
        IF @expires_ms < 1
            THROW 54036, N'@expires_ms must be at least 1.', 1;
        IF @mode IS NULL OR @mode NOT IN (N'all', N'any')
            THROW 54078, N'@mode must be all or any.', 1;
        IF @requests IS NULL OR ISJSON(@requests) = 0
            OR LEFT(LTRIM(REPLACE(REPLACE(REPLACE(@requests, NCHAR(9), N' '), NCHAR(10), N' '), NCHAR(13), N' ')), 1) <> N'['
            THROW 54076, N'@requests must be a JSON array of objects such as [{"url":"https://example.com"}].', 1;

        INSERT INTO @items (
            ordinal,
            item,
            is_object)
        SELECT
            CONVERT(int, j.[key]),
            COALESCE(j.[value], N''),
            CASE WHEN j.[type] = 5 THEN 1 ELSE 0 END
        FROM OPENJSON(@requests) AS j;
        SET @count = @@ROWCOUNT;
        IF @count NOT BETWEEN 1 AND 1000
            THROW 54077, N'@requests must hold 1 to 1,000 requests.', 1;

        WHILE @ordinal < @count
        BEGIN
            SELECT @item = CASE WHEN i.is_object = 1 THEN i.item END
            FROM @items AS i
            WHERE i.ordinal = @ordinal;
            SET @text = CASE
                WHEN @item IS NULL
                    THEN N'it is not an object.'
                WHEN EXISTS (
                        SELECT 1
                        FROM OPENJSON(@item) AS k
                        WHERE k.[key] NOT IN (N'url', N'method', N'headers', N'body', N'body_base64', N'idempotency_key', N'credential',
                            N'timeout_ms', N'binary'))
                    THEN N'it may hold url, method, headers, body, body_base64, idempotency_key, credential, timeout_ms and binary, and nothing else.'
            END;
            IF @text IS NULL
            BEGIN
                BEGIN TRY
                    SELECT
                        @url = j.url,
                        @method = COALESCE(j.method, N'GET'),
                        @headers = COALESCE(j.headers, j.headers_text),
                        @body = j.body,
                        @body_base64 = j.body_base64,
                        @key = j.[key],
                        @credential = j.credential,
                        @attempt_ms = COALESCE(j.timeout_ms, @timeout_ms),
                        @binary = COALESCE(j.[binary], 0)
                    FROM OPENJSON(@item)
                    WITH (
                        url nvarchar(max) N'$.url',
                        method nvarchar(100) N'$.method',
                        headers nvarchar(max) N'$.headers' AS JSON,
                        headers_text nvarchar(max) N'$.headers',
                        body nvarchar(max) N'$.body',
                        body_base64 nvarchar(max) N'$.body_base64',
                        [key] nvarchar(4000) N'$.idempotency_key',
                        credential nvarchar(4000) N'$.credential',
                        timeout_ms int N'$.timeout_ms',
                        [binary] bit N'$.binary'
                    ) AS j;
                    EXEC [dbo].[sp_api_broker_check_http]
                        @url = @url,
                        @method = @method OUTPUT,
                        @headers = @headers,
                        @sensitive = @sensitive,
                        @scheme = @scheme OUTPUT,
                        @host = @host OUTPUT,
                        @port = @port OUTPUT,
                        @path = @path OUTPUT;
                    EXEC [dbo].[sp_api_broker_authorize]
                        @type = N'http',
                        @scheme = @scheme,
                        @host = @host,
                        @port = @port,
                        @path = @path,
                        @method = @method,
                        @credential = @credential,
                        @app_role = @app_role OUTPUT;
                    SET @text = CASE
                        WHEN @attempt_ms NOT BETWEEN 1 AND @max_timeout
                            THEN N'timeout_ms must be from 1 to the setting max_timeout_ms.'
                        WHEN @key IS NOT NULL
                            AND (DATALENGTH(@key) NOT BETWEEN 2 AND 400
                                OR PATINDEX(N'%[^ -~]%', @key COLLATE Latin1_General_100_BIN2) > 0
                                OR LEFT(@key, 1) = N' '
                                OR RIGHT(@key, 1) = N' ')
                            THEN N'idempotency_key must have 1 to 200 printable ASCII characters, with no blank at either end.'
                        WHEN @body IS NOT NULL AND @body_base64 IS NOT NULL
                            THEN N'give body or body_base64, not both.'
                        WHEN @body_base64 COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9+/=]%'
                            OR LEN(@body_base64) % 4 <> 0
                            OR @body_base64 LIKE N'%=_%[^=]%'
                            OR @body_base64 LIKE N'%===%'
                            THEN N'body_base64 is not base64.'
                        WHEN DATALENGTH(@body) > @max_body OR LEN(@body_base64) / 4 * 3 > @max_body
                            THEN N'the body is larger than the setting max_body_bytes; text counts two bytes a character.'
                    END;
                END TRY
                BEGIN CATCH
                    IF ERROR_NUMBER() NOT BETWEEN 54000 AND 54099 OR XACT_STATE() = -1
                        THROW;
                    SET @text = ERROR_MESSAGE();
                END CATCH;
            END;
            IF @text IS NOT NULL
            BEGIN
                SET @text = LEFT(CONCAT(N'Item ', @ordinal, N' of @requests (counted from 0): ', @text), 2048);
                THROW 54076, @text, 1;
            END;

            UPDATE @items
            SET json_in = CONCAT(
                    N'{"url":"', @url,
                    N'","method":"', @method, N'"',
                    N',"headers":' + @headers,
                    N',"body":"' + STRING_ESCAPE(@body, N'json') + N'"',
                    N',"idempotency_key":"' + STRING_ESCAPE(@key, N'json') + N'"',
                    N',"credential":"' + @credential + N'"',
                    CASE WHEN @binary = 1 THEN N',"binary":true' END,
                    N'}'),
                body_base64 = @body_base64,
                timeout_ms = @attempt_ms,
                [key] = @key
            WHERE ordinal = @ordinal;
            SET @ordinal += 1;
        END;

        SELECT
            @batch_id = NEWID(),
            @want = CASE WHEN @mode = N'any' THEN 1 ELSE @count END,
            @lane = CASE
                WHEN @priority = N'low' THEN N'api.low'
                WHEN @priority = N'normal' OR @wait = 0 THEN N'api.normal'
                ELSE N'api.wait'
            END,
            @json = (
                SELECT
                    i.ordinal AS o,
                    JSON_QUERY(i.json_in) AS j,
                    i.body_base64 AS b,
                    i.timeout_ms AS t,
                    i.[key] AS k
                FROM @items AS i
                ORDER BY i.ordinal
                FOR JSON PATH);

        EXEC @code = [dbo].[sp_api_broker_send]
            @verb = N'batch',
            @type = N'http',
            @json = @json,
            @body = NULL,
            @lane = @lane,
            @due_ms = NULL,
            @expires_ms = @expires_ms,
            @max_attempts = @max_attempts,
            @attempt_timeout_ms = @timeout_ms,
            @idempotency_key = NULL,
            @app_role = @app_role,
            @on_complete = NULL,
            @on_commit = 0,
            @message_id = @batch_id,
            @link = @link,
            @secret = @secret,
            @id = @sent OUTPUT,
            @error = @error OUTPUT;
        IF @code <> 0
            RETURN @code;

        SET @code = 1;
        IF @wait > 0
            EXEC @code = [dbo].[sp_api_broker_wait]
                @id = NULL,
                @type = N'http',
                @wait = @wait,
                @started = @started,
                @alive_ms = @alive_ms,
                @max_waiters = @max_waiters,
                @options = @options,
                @batch_id = @batch_id,
                @want = @want;

        SET @results = (
            SELECT
                b.ordinal,
                b.request_id AS id,
                COALESCE(r.state, N'pending') AS state,
                r.http_status AS status,
                JSON_QUERY(CASE WHEN r.http_status IS NOT NULL THEN r.json_out END, N'$.headers') AS headers,
                a.body,
                r.body_out AS body_base64,
                r.error_class,
                CASE WHEN r.state <> N'completed' THEN r.error_message END AS error
            FROM [dbo].[api_broker_batch] AS b WITH (READCOMMITTEDLOCK)
            LEFT JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
                ON r.request_id = b.request_id
            OUTER APPLY OPENJSON(CASE WHEN r.http_status IS NOT NULL THEN r.json_out END)
                WITH (body nvarchar(max) N'$.body') AS a
            WHERE b.batch_id = @batch_id
            ORDER BY b.ordinal
            FOR JSON PATH);
        IF @code = 0 AND EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_batch] AS b WITH (READCOMMITTEDLOCK)
                INNER JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
                    ON r.request_id = b.request_id
                WHERE b.batch_id = @batch_id
                    AND r.state <> N'completed')
            AND (@mode = N'all' OR NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_batch] AS b WITH (READCOMMITTEDLOCK)
                INNER JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
                    ON r.request_id = b.request_id
                WHERE b.batch_id = @batch_id
                    AND r.state = N'completed'))
            SET @code = 2;
        RETURN @code;
    END TRY
    BEGIN CATCH
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() BETWEEN 54000 AND 54099 OR XACT_STATE() = -1 OR @@TRANCOUNT < @trancount
            THROW;
        SET @error = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        RETURN CASE WHEN @sent IS NULL THEN 5 ELSE 1 END;
    END CATCH;
END;
GO
