-- A request leaves an open transaction and its answer comes back into it.
-- Needs: loopbroker stub, and loopbroker serve --allow http://127.0.0.1:8080
-- prints: code 0, status 200, transactions open: 1

SET NOCOUNT ON;
BEGIN TRANSACTION;

DECLARE @code int, @status int, @response nvarchar(max), @error nvarchar(2048), @id bigint;
EXEC @code = dbo.sp_api_request
    @url = N'http://127.0.0.1:8080/hello',
    @wait = 5000,
    @status = @status OUTPUT,
    @response = @response OUTPUT,
    @error = @error OUTPUT,
    @id = @id OUTPUT;

SELECT CONCAT(N'code ', @code, N', status ', @status, N', transactions open: ', @@TRANCOUNT) AS result, @response AS response, @error AS error;
COMMIT TRANSACTION;
GO
