-- What `docker compose exec sqlserver sh /examples/ask.sh` runs.
SET NOCOUNT ON;
BEGIN TRANSACTION;
DECLARE @code int, @status int, @response nvarchar(max), @error nvarchar(2048);
EXEC @code = dbo.sp_api_request
    @url = N'http://target:8080/hello',
    @wait = 10000,
    @status = @status OUTPUT,
    @response = @response OUTPUT,
    @error = @error OUTPUT;
SELECT @code AS code, @status AS status, @response AS response, @error AS error, @@TRANCOUNT AS trancount;
COMMIT TRANSACTION;
GO
