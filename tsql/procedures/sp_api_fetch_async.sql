SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_fetch_async: the framework's fetch with a wait of the caller's choice.

Purpose
    The public signature of the framework in whose setting this broker was first described. What belongs to its store
    of files has no meaning here and is refused.
Parameters
    @url, @headers, @body     as in sp_api_request
    @method                   NULL means GET
    @status, @response        the answer
    @wait                     how long to wait for the answer, in ms; 0 does not wait, NULL means 3000
    @error                    why there is no answer
    @responseheaders          the answer's headers, a JSON object
    @json                     the answer's body if it is a JSON object or array
    @store, @filename, @api_files_id, @store_only   the framework's store of files: leave them at their defaults
    @id                       of the request, to collect by; not in the framework's signature, so it comes last
Return codes
    0 completed, whatever the status of the answer
    1 pending; collect by @id
    2 failed, expired or cancelled; see @error
    3 pending, and no live worker serves this type
    4 pending, and too many callers wait already
    5 not sent, nothing was stored; see @error
    6 unknown: the link broke after the request may have been stored; call again with the same idempotency key
Errors
    54045: a parameter of the framework's store of files; and those of sp_api_request.
Locks
    Those of sp_api_request.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_fetch_async]
    @url nvarchar(max),
    @headers nvarchar(max) = NULL,
    @method nvarchar(100) = NULL,
    @body nvarchar(max) = NULL,
    @status int = NULL OUTPUT,
    @response nvarchar(max) = NULL OUTPUT,
    @wait int = NULL,
    @error nvarchar(max) = NULL OUTPUT,
    @responseheaders nvarchar(max) = NULL OUTPUT,
    @json nvarchar(max) = NULL OUTPUT,
    @store bit = 0,
    @filename nvarchar(2048) = NULL,
    @api_files_id int = NULL,
    @store_only bit = 0,
    @id bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @code int,
        @text nvarchar(2048);

    SET @json = NULL;
    IF @store = 1 OR @store_only = 1 OR @filename IS NOT NULL OR @api_files_id IS NOT NULL
        THROW 54045, N'@store, @filename, @api_files_id and @store_only belong to a store of files that there is none of here. Leave them at their defaults, and store the answer yourself.', 1;

    SELECT
        @method = COALESCE(@method, N'GET'),
        @wait = COALESCE(@wait, 3000);
    EXEC @code = [dbo].[sp_api_request]
        @url = @url,
        @method = @method,
        @headers = @headers,
        @body = @body,
        @wait = @wait,
        @status = @status OUTPUT,
        @response = @response OUTPUT,
        @response_headers = @responseheaders OUTPUT,
        @error = @text OUTPUT,
        @id = @id OUTPUT;
    SELECT
        @error = @text,
        @json = CASE WHEN ISJSON(@response) = 1 THEN @response END;
    RETURN @code;
END;
GO
