SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_invoke_external_rest_endpoint: Microsoft's procedure of this name, on top of sp_api_request.

Purpose
    Scripts that call sp_invoke_external_rest_endpoint run unchanged where the server has none of its own: the same
    parameters, return value, answer and causes of errors. The call waits; a request that has no answer in time is
    called off. Like Microsoft's it calls https only and follows no redirects, drops headers that a browser
    would not let a script set, and writes Content-Type and Accept where @headers has none.
    It is not deployed into dbo where the server has its own, which would be called instead.
Parameters
    @url                      https only; at most 4,000 characters
    @payload                  the body: JSON, XML or another text
    @headers                  a flat JSON object; a name that is there twice is sent once, with both values
    @method                   GET, HEAD, POST, PUT, PATCH or DELETE
    @timeout                  of one attempt, 1 to 230 s; the setting max_wait_ms bounds the whole call
    @credential               the name of a credential of the broker
    @response                 {"response":{"status":{"http":{"code":200,"description":"OK"}},"headers":{}},"result":{}}
    @retry_count              0 to 10 further attempts after a failure that may be tried again
Return codes
    0 the answer has a status from 200 to 299
    else the status of the answer
Errors
    Microsoft's number plus 50000, for THROW takes no lower one:
    60928 too many calls; 81601 @payload is too large; 81604 @timeout or @retry_count is out of range; 81605 @method;
    81607 no permission for the endpoint; 81608 the endpoint cannot be reached, which includes that no worker is
    alive; 81609 @url is malformed; 81610 not https; 81612 the allow-list has no such endpoint; 81613 @url is too long;
    81615 @headers is nested; 81617 a character outside ASCII in @headers; 81618 @headers or the request is malformed;
    81619 a control character in @headers; 81620 a bad name in @headers; 81624 the host resolves to an address that is
    not allowed; 81625 the host does not resolve; 81629 timeout; 81630 the credential; 81631 the wait failed;
    81632 @headers is too long; 81633 the answer is too large.
    54001-54005, 54062: what Microsoft's procedure does not know; see sp_api_request.
Locks
    Those of sp_api_request, and for the call that is called off those of sp_api_cancel.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_invoke_external_rest_endpoint]
    @url nvarchar(max),
    @payload nvarchar(max) = NULL,
    @headers nvarchar(max) = NULL,
    @method nvarchar(100) = N'POST',
    @timeout int = 30,
    @credential nvarchar(4000) = NULL,
    @response nvarchar(max) = NULL OUTPUT,
    @retry_count int = 0
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @options int = @@OPTIONS,
        @trancount int = @@TRANCOUNT;
    SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
    SET XACT_ABORT, NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET LOCK_TIMEOUT 1000;

    DECLARE
        @max_wait int,
        @wait bigint,
        @expires_ms int,
        @timeout_ms int,
        @attempts int,
        @status int,
        @body nvarchar(max),
        @bytes varbinary(max),
        @answer_headers nvarchar(max),
        @type nvarchar(400),
        @result nvarchar(max),
        @error nvarchar(2048),
        @id bigint,
        @ms_error int,
        @number int,
        @secret varbinary(32),
        @cancelled int,
        @code int;
    SET @response = NULL;

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

        SELECT @max_wait = s.max_wait_ms
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;

        SELECT @method = RTRIM(UPPER(@method COLLATE Latin1_General_100_BIN2));
        SELECT
            @number = CASE
                WHEN DATALENGTH(@url) > 8000 THEN 81613
                WHEN @url IS NULL OR CHARINDEX(N'://', LEFT(@url, 20)) = 0 THEN 81609
                WHEN LOWER(LEFT(@url, 8)) <> N'https://' THEN 81610
                WHEN @method IS NULL OR @method NOT IN (N'GET', N'HEAD', N'POST', N'PUT', N'PATCH', N'DELETE') THEN 81605
                WHEN @timeout IS NULL OR @timeout NOT BETWEEN 1 AND 230 THEN 81604
                WHEN @retry_count IS NULL OR @retry_count NOT BETWEEN 0 AND 10 THEN 81604
                WHEN ISJSON(@headers) = 0 THEN 81618
                WHEN LEFT(LTRIM(REPLACE(REPLACE(REPLACE(@headers, NCHAR(9), N' '), NCHAR(10), N' '), NCHAR(13), N' ')), 1) <> N'{' THEN 81618
                WHEN EXISTS (
                        SELECT 1
                        FROM OPENJSON(@headers) AS h
                        WHERE h.[type] IN (4, 5))
                    THEN 81615
            END;
        IF @number IS NOT NULL
            SET @error = CASE @number
                WHEN 81604 THEN N'@timeout must be from 1 to 230 seconds, and @retry_count from 0 to 10.'
                WHEN 81605 THEN N'@method must be GET, HEAD, POST, PUT, PATCH or DELETE.'
                WHEN 81609 THEN N'@url is missing or malformed.'
                WHEN 81610 THEN N'@url must begin with https://. For http use sp_api_request.'
                WHEN 81613 THEN N'@url is longer than 4,000 characters.'
                WHEN 81615 THEN N'@headers must be flat: every value a string, a number or a boolean.'
                ELSE N'@headers must be a JSON object such as {"Accept":"text/plain"}.'
            END;
        ELSE
        BEGIN
            -- What a script in a browser may not set is dropped, and so is User-Agent, which is the worker's.
            SELECT @headers = N'{' + STRING_AGG(
                    CONCAT(N'"', STRING_ESCAPE(g.name, N'json'), N'":"', STRING_ESCAPE(g.value, N'json'), N'"'), N',') + N'}'
            FROM (
                SELECT
                    MIN(a.name) AS name,
                    STRING_AGG(a.value, N', ') AS value
                FROM (
                    SELECT
                        h.[key] COLLATE Latin1_General_100_BIN2 AS name,
                        h.[value] COLLATE Latin1_General_100_BIN2 AS value
                    FROM OPENJSON(COALESCE(@headers, N'{}')) AS h
                    WHERE LOWER(h.[key]) NOT IN (
                            N'accept-charset', N'accept-encoding', N'access-control-request-headers',
                            N'access-control-request-method', N'connection', N'content-length', N'cookie', N'cookie2',
                            N'date', N'dnt', N'expect', N'host', N'keep-alive', N'origin', N'referer', N'set-cookie', N'te',
                            N'trailer', N'transfer-encoding', N'upgrade', N'user-agent', N'via')
                        AND LOWER(h.[key]) NOT LIKE N'proxy-%'
                        AND LOWER(h.[key]) NOT LIKE N'sec-%'
                    UNION ALL
                    SELECT
                        d.name COLLATE Latin1_General_100_BIN2,
                        d.value COLLATE Latin1_General_100_BIN2
                    FROM (VALUES
                        (N'Accept', N'application/json'),
                        (N'Content-Type', N'application/json; charset=utf-8')) AS d (name, value)
                    WHERE (d.name = N'Accept' OR @payload IS NOT NULL)
                        AND NOT EXISTS (
                            SELECT 1
                            FROM OPENJSON(COALESCE(@headers, N'{}')) AS h
                            WHERE LOWER(h.[key]) COLLATE Latin1_General_100_BIN2 = LOWER(d.name))) AS a
                GROUP BY LOWER(a.name)) AS g;

            SELECT
                @timeout_ms = @timeout * 1000,
                @attempts = @retry_count + 1;
            SET @wait = CAST(@timeout_ms AS bigint) * @attempts + 2000 * @attempts;
            IF @wait > @max_wait
                SET @wait = @max_wait;
            SET @expires_ms = CASE WHEN @wait > 0 THEN @wait ELSE 1 END;

            -- The inner call must see the caller's XACT_ABORT, which decides what a cancelled wait leaves behind.
            IF @options & 16384 = 16384
                SET XACT_ABORT ON;
            EXEC @code = [dbo].[sp_api_request]
                @url = @url,
                @method = @method,
                @headers = @headers,
                @body = @payload,
                @wait = @wait,
                @timeout_ms = @timeout_ms,
                @max_attempts = @attempts,
                @credential = @credential,
                @expires_ms = @expires_ms,
                @status = @status OUTPUT,
                @response = @body OUTPUT,
                @response_headers = @answer_headers OUTPUT,
                @response_binary = @bytes OUTPUT,
                @error = @error OUTPUT,
                @id = @id OUTPUT;
            SET XACT_ABORT OFF;

            -- Nobody will collect it. One that has its answer by now is as good as answered in time.
            IF @code IN (1, 3, 4)
            BEGIN
                EXEC @cancelled = [dbo].[sp_api_cancel]
                    @id = @id;
                IF @cancelled = 2
                    EXEC @code = [dbo].[sp_api_collect]
                        @id = @id,
                        @status = @status OUTPUT,
                        @response = @body OUTPUT,
                        @response_headers = @answer_headers OUTPUT,
                        @response_binary = @bytes OUTPUT,
                        @error = @error OUTPUT;
            END;
            IF @code = 2
                SELECT @ms_error = r.ms_error
                FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK)
                WHERE r.request_id = @id;
            IF @code <> 0
                SELECT
                    @number = CASE
                        WHEN @code = 1 THEN 81629
                        WHEN @code = 4 THEN 60928
                        WHEN @code = 6 THEN 81631
                        WHEN @code = 2 AND @ms_error > 0 THEN 50000 + @ms_error
                        ELSE 81608
                    END,
                    @error = CASE @code
                        WHEN 1 THEN N'There was no answer in time. The call was cancelled; the endpoint may have acted on it.'
                        WHEN 3 THEN N'No live worker of the broker serves http. The call was cancelled.'
                        WHEN 4 THEN N'Too many callers wait already: see the setting max_waiters. The call was cancelled.'
                        ELSE COALESCE(@error, N'The endpoint cannot be reached.')
                    END;
        END;
    END TRY
    BEGIN CATCH
        SET XACT_ABORT OFF;
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        SELECT
            @error = ERROR_MESSAGE(),
            @number = CASE ERROR_NUMBER()
                WHEN 54010 THEN 81609
                WHEN 54012 THEN 81609
                WHEN 54014 THEN 81609
                WHEN 54022 THEN 81619
                WHEN 54023 THEN 81617
                WHEN 54024 THEN 81630
                WHEN 54020 THEN 81618
                WHEN 54021 THEN 81618
                WHEN 54025 THEN 81620
                WHEN 54026 THEN 81632
                WHEN 54027 THEN 81620
                WHEN 54031 THEN 81604
                WHEN 54040 THEN 81601
                WHEN 54070 THEN 81612
                WHEN 54071 THEN 81607
                WHEN 54073 THEN 81630
            END;
        IF @number IS NULL
            THROW;
    END CATCH;
    IF @number IS NOT NULL
        THROW @number, @error, 1;

    SELECT
        @answer_headers = COALESCE(@answer_headers, N'{}'),
        @body = NULLIF(@body, N'');
    SELECT @type = JSON_VALUE(@answer_headers, N'$."Content-Type"');
    IF @status <> 204
        SET @result = CASE
            WHEN @type LIKE N'%json%' AND ISJSON(@body) = 1 THEN @body
            WHEN @type LIKE N'%json%' AND ISJSON(N'[' + @body + N']') = 1 AND (
                    SELECT COUNT(*)
                    FROM OPENJSON(N'[' + @body + N']') AS j) = 1
                THEN @body
            WHEN @body IS NOT NULL THEN N'"' + STRING_ESCAPE(@body, N'json') + N'"'
            WHEN DATALENGTH(@bytes) > 0 THEN (
                SELECT @bytes AS b
                FOR JSON PATH, WITHOUT_ARRAY_WRAPPER)
        END;
    IF @body IS NULL -- bytes, in base64
        SET @result = SUBSTRING(@result, LEN(N'{"b":') + 1, LEN(@result) - LEN(N'{"b":}'));
    SET @response = CONCAT(
        N'{"response":{"status":{"http":{"code":', @status, N',"description":"',
        CASE @status
            WHEN 200 THEN N'OK'
            WHEN 201 THEN N'Created'
            WHEN 202 THEN N'Accepted'
            WHEN 204 THEN N'No Content'
            WHEN 206 THEN N'Partial Content'
            WHEN 301 THEN N'Moved Permanently'
            WHEN 302 THEN N'Found'
            WHEN 303 THEN N'See Other'
            WHEN 304 THEN N'Not Modified'
            WHEN 307 THEN N'Temporary Redirect'
            WHEN 308 THEN N'Permanent Redirect'
            WHEN 400 THEN N'Bad Request'
            WHEN 401 THEN N'Unauthorized'
            WHEN 402 THEN N'Payment Required'
            WHEN 403 THEN N'Forbidden'
            WHEN 404 THEN N'Not Found'
            WHEN 405 THEN N'Method Not Allowed'
            WHEN 406 THEN N'Not Acceptable'
            WHEN 408 THEN N'Request Timeout'
            WHEN 409 THEN N'Conflict'
            WHEN 410 THEN N'Gone'
            WHEN 411 THEN N'Length Required'
            WHEN 412 THEN N'Precondition Failed'
            WHEN 413 THEN N'Content Too Large'
            WHEN 415 THEN N'Unsupported Media Type'
            WHEN 422 THEN N'Unprocessable Content'
            WHEN 423 THEN N'Locked'
            WHEN 428 THEN N'Precondition Required'
            WHEN 429 THEN N'Too Many Requests'
            WHEN 500 THEN N'Internal Server Error'
            WHEN 501 THEN N'Not Implemented'
            WHEN 502 THEN N'Bad Gateway'
            WHEN 503 THEN N'Service Unavailable'
            WHEN 504 THEN N'Gateway Timeout'
        END,
        N'"}},"headers":', @answer_headers, N'}',
        N',"result":' + @result,
        N'}');
    RETURN CASE WHEN @status BETWEEN 200 AND 299 THEN 0 ELSE @status END;
END;
GO
