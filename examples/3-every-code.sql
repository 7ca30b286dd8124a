-- What a caller does with the return code. An HTTP status is not a delivery status: 503 that arrived is code 0.
-- Needs one more row of the allow-list: loopbroker endpoints allow http://127.0.0.1:1
-- prints: completed with status 404
-- prints: still running: collect it later
-- prints: failed: connect

SET NOCOUNT ON;
CREATE TABLE #request (url nvarchar(400) NOT NULL);
INSERT INTO #request (url) VALUES
    (N'http://127.0.0.1:8080/status/404'),
    (N'http://127.0.0.1:8080/slow?ms=3000'),
    (N'http://127.0.0.1:1/refused');

DECLARE @url nvarchar(400), @code int, @status int, @error nvarchar(2048), @id bigint, @class nvarchar(64);
DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT url FROM #request;
OPEN c;
FETCH NEXT FROM c INTO @url;
WHILE @@FETCH_STATUS = 0
BEGIN
    EXEC @code = dbo.sp_api_request
        @url = @url,
        @wait = 1500,
        @max_attempts = 1,
        @status = @status OUTPUT,
        @error = @error OUTPUT,
        @id = @id OUTPUT;
    SELECT @class = r.error_class FROM dbo.api_broker_request AS r WHERE r.id = @id;
    SELECT CASE @code
            WHEN 0 THEN CONCAT(N'completed with status ', @status)
            WHEN 1 THEN N'still running: collect it later'
            WHEN 2 THEN CONCAT(N'failed: ', @class)
            WHEN 3 THEN N'no worker serves this type; the request is kept'
            WHEN 4 THEN N'too many callers wait; the request is kept'
            WHEN 5 THEN CONCAT(N'not sent, nothing was stored: ', @error)
            ELSE N'unknown: call again with the same idempotency key'
        END AS result;
    FETCH NEXT FROM c INTO @url;
END;
CLOSE c;
DEALLOCATE c;
GO
