-- @wait = 0 sends and goes on; the answer is collected later, here in the next batch.
-- prints: code 1, collected: code 0, status 201

SET NOCOUNT ON;
CREATE TABLE #sent (id bigint NOT NULL, code int NOT NULL);
BEGIN TRANSACTION;
DECLARE @code int, @id bigint;
EXEC @code = dbo.sp_api_request
    @url = N'http://127.0.0.1:8080/render',
    @method = N'POST',
    @headers = N'{"Content-Type":"application/xml"}',
    @body = N'<invoice number="1"/>',
    @wait = 0,
    @id = @id OUTPUT;
INSERT INTO #sent (id, code) VALUES (@id, @code);
COMMIT TRANSACTION;
GO

DECLARE @sent bigint, @first int, @code int, @status int, @response nvarchar(max);
SELECT @sent = id, @first = code FROM #sent;
EXEC @code = dbo.sp_api_collect @id = @sent, @wait = 20000, @status = @status OUTPUT, @response = @response OUTPUT;
SELECT CONCAT(N'code ', @first, N', collected: code ', @code, N', status ', @status) AS result, @response AS response;
GO
