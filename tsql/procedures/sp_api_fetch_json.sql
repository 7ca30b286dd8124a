SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_fetch_json: the framework's fetch of a JSON document.

Purpose
    The public signature of the framework in whose setting this broker was first described. Without @headers it asks
    for JSON and says that a body is JSON. It waits up to 30 s, which the setting max_wait_ms must allow.
Parameters
    @url, @headers, @body     as in sp_api_request
    @json                     the answer's body if it is a JSON object or array, whatever the status; else NULL
    @method                   NULL means GET
    @status                   of the answer; not in the framework's signature, like those below
    @error                    why there is no answer, or that it is not JSON
    @id                       of the request, to collect by
Return codes
    0 completed, whatever the status of the answer
    1 pending; collect by @id
    2 failed, expired or cancelled; see @error
    3 pending, and no live worker serves this type
    4 pending, and too many callers wait already
    5 not sent, nothing was stored; see @error
    6 unknown: the link broke after the request may have been stored; call again with the same idempotency key
Errors
    Those of sp_api_request.
Locks
    Those of sp_api_request.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_fetch_json]
    @url nvarchar(max),
    @json nvarchar(max) OUTPUT,
    @headers nvarchar(max) = NULL,
    @method nvarchar(100) = NULL,
    @body nvarchar(max) = NULL,
    @status int = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT,
    @id bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @response nvarchar(max),
        @code int;

    SELECT
        @json = NULL,
        @method = COALESCE(@method, N'GET'),
        @headers = COALESCE(
            @headers,
            CASE
                WHEN @body IS NULL THEN N'{"Accept":"application/json"}'
                ELSE N'{"Accept":"application/json","Content-Type":"application/json; charset=utf-8"}'
            END);
    EXEC @code = [dbo].[sp_api_request]
        @url = @url,
        @method = @method,
        @headers = @headers,
        @body = @body,
        @wait = 30000,
        @status = @status OUTPUT,
        @response = @response OUTPUT,
        @error = @error OUTPUT,
        @id = @id OUTPUT;
    IF ISJSON(@response) = 1
        SET @json = @response;
    ELSE IF @code = 0
        SET @error = N'The answer is not a JSON object or array.';
    RETURN @code;
END;
GO
