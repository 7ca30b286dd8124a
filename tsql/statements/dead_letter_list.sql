/*
Buried rows, the newest first.
Parameters: @host, @error_class, NULL for all; @older_ms, @newer_ms how long ago it was buried, NULL for any; @limit int.
Result: at most @limit rows: message_id as text, request_id, type, url, requested_by, error_class, reason, attempts, buried_at, age_ms.
*/
SELECT TOP (@limit)
    CONVERT(nvarchar(36), d.message_id) AS message_id,
    d.request_id,
    d.type,
    d.url,
    d.requested_by,
    d.error_class,
    d.reason,
    d.attempts,
    d.buried_at,
    d.age_ms
FROM [dbo].[api_broker_dead_letter] AS d
CROSS APPLY (
    SELECT LOWER(SUBSTRING(d.url, CHARINDEX(N'://', d.url) + 3, 4000)) AS rest
) AS a
CROSS APPLY (
    SELECT LEFT(a.rest, PATINDEX(N'%[/?#]%', a.rest + N'/') - 1) AS authority
) AS b
WHERE (@error_class IS NULL OR d.error_class = @error_class)
    AND (@older_ms IS NULL OR d.age_ms > @older_ms)
    AND (@newer_ms IS NULL OR d.age_ms <= @newer_ms)
    AND (@host IS NULL
        OR b.authority = LOWER(@host)
        OR b.authority LIKE REPLACE(LOWER(@host), N'_', N'[_]') + N':%' AND b.authority NOT LIKE N'[[]%')
ORDER BY
    d.buried_at DESC,
    d.message_id;
