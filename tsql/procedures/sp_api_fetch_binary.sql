SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_fetch_binary: the framework's fetch of bytes.

Purpose
    The public signature of the framework in whose setting this broker was first described. It waits up to 30 s, which
    the setting max_wait_ms must allow.
Parameters
    @url, @headers, @body     as in sp_api_request
    @method                   NULL means GET
    @status                   of the answer
    @response                 the answer's bytes in base64
    @binary_response          the answer's bytes; not in the framework's signature, like those below
    @error                    why there is no answer
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
CREATE OR ALTER PROCEDURE [dbo].[sp_api_fetch_binary]
    @url nvarchar(max),
    @headers nvarchar(max) = NULL,
    @method nvarchar(100) = NULL,
    @body nvarchar(max) = NULL,
    @status int = NULL OUTPUT,
    @response nvarchar(max) = NULL OUTPUT,
    @binary_response varbinary(max) = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT,
    @id bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @code int;

    SET @method = COALESCE(@method, N'GET');
    EXEC @code = [dbo].[sp_api_request]
        @url = @url,
        @method = @method,
        @headers = @headers,
        @body = @body,
        @wait = 30000,
        @binary = 1,
        @status = @status OUTPUT,
        @response_binary = @binary_response OUTPUT,
        @error = @error OUTPUT,
        @id = @id OUTPUT;

    -- FOR JSON writes bytes in base64, and its slashes as \/.
    SET @response = NULL;
    IF @binary_response IS NOT NULL
    BEGIN
        SET @response = (
            SELECT @binary_response AS b
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
        SET @response = REPLACE(SUBSTRING(@response, LEN(N'{"b":"') + 1, LEN(@response) - LEN(N'{"b":""}')), N'\/', N'/');
    END;
    RETURN @code;
END;
GO
