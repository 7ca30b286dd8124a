/*
The newest requests that a filter leaves, as far as the reader may see them.
Parameters: @state, @type, @host, @error_class, each NULL for all; @older_ms, @newer_ms the age of the request, NULL for
any; @limit int.
Result: at most @limit rows, the newest first: id, type, state, method, url, http_status, error_class, error_message,
lane, requested_by, attempts, max_attempts, created_at, completed_at, total_ms, age_ms.
*/
SELECT TOP (@limit)
    q.id,
    q.type,
    q.state,
    u.method,
    u.url,
    q.http_status,
    q.error_class,
    q.error_message,
    q.lane,
    q.requested_by,
    q.attempts,
    q.max_attempts,
    q.created_at,
    q.completed_at,
    q.total_ms,
    DATEDIFF_BIG(millisecond, q.created_at, SYSUTCDATETIME()) AS age_ms
FROM [dbo].[api_broker_request] AS q
CROSS APPLY (
    SELECT
        JSON_VALUE(CASE WHEN q.type = N'http' AND ISJSON(q.json_in) = 1 THEN q.json_in END, N'$.method') AS method,
        JSON_VALUE(CASE WHEN q.type = N'http' AND ISJSON(q.json_in) = 1 THEN q.json_in END, N'$.url') AS url
) AS u
CROSS APPLY (
    SELECT LOWER(SUBSTRING(u.url, CHARINDEX(N'://', u.url) + 3, 4000)) AS rest
) AS a
CROSS APPLY (
    SELECT LEFT(a.rest, PATINDEX(N'%[/?#]%', a.rest + N'/') - 1) AS authority
) AS b
WHERE (@state IS NULL OR q.state = @state)
    AND (@type IS NULL OR q.type = @type)
    AND (@error_class IS NULL OR q.error_class = @error_class)
    AND (@older_ms IS NULL OR q.created_at < DATEADD(millisecond, -(@older_ms % 86400000), DATEADD(day, -(@older_ms / 86400000), SYSUTCDATETIME())))
    AND (@newer_ms IS NULL OR q.created_at >= DATEADD(millisecond, -(@newer_ms % 86400000), DATEADD(day, -(@newer_ms / 86400000), SYSUTCDATETIME())))
    AND (@host IS NULL
        OR b.authority = LOWER(@host)
        OR b.authority LIKE REPLACE(LOWER(@host), N'_', N'[_]') + N':%' AND b.authority NOT LIKE N'[[]%')
ORDER BY q.id DESC;
