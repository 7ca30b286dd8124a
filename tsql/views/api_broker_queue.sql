SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
View api_broker_queue: what waits, and for how long.

Purpose
    One row per lane, type and host. It reads every queued row and its request, so it is for people and for a look a
    minute; api_broker_health has the numbers to watch.
Columns
    lane                      the logical queue; api.deadletter is what was buried, api.completion what is to be run
    type                      the job type
    host                      of an HTTP request, with its port if the URL has one
    depth                     rows, those that are leased and those that are not due yet among them
    due                       rows that a worker could take now
    in_flight                 rows that a worker has
    oldest_due_age_ms         since when the longest due of them is
Locks
    None: it reads without.
*/
CREATE OR ALTER VIEW [dbo].[api_broker_queue]
AS
SELECT
    q.lane,
    q.type,
    q.host,
    COUNT_BIG(1) AS depth,
    SUM(q.due) AS due,
    SUM(q.leased) AS in_flight,
    MAX(CASE WHEN q.due = 1 THEN q.age_ms END) AS oldest_due_age_ms
FROM (
    SELECT
        m.queue AS lane,
        c.type,
        LEFT(b.rest, PATINDEX(N'%[/?#]%', b.rest + N'/') - 1) AS host,
        CASE WHEN m.locked_until > SYSUTCDATETIME() THEN 1 ELSE 0 END AS leased,
        CASE WHEN m.available_at <= SYSUTCDATETIME() AND (m.locked_until IS NULL OR m.locked_until <= SYSUTCDATETIME()) THEN 1 ELSE 0 END AS due,
        DATEDIFF_BIG(millisecond, m.available_at, SYSUTCDATETIME()) AS age_ms
    FROM [dbo].[asyncresponse_transport_messages] AS m WITH (NOLOCK)
    LEFT JOIN [dbo].[api_broker_call] AS c WITH (NOLOCK)
        ON c.id = TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id'))
    CROSS APPLY (
        SELECT LOWER(JSON_VALUE(CASE WHEN c.type = N'http' AND ISJSON(c.json_in) = 1 THEN c.json_in END, N'$.url')) AS url
    ) AS a
    CROSS APPLY (
        SELECT SUBSTRING(a.url, CHARINDEX(N'://', a.url) + 3, 4000) AS rest
    ) AS b
    WHERE m.queue LIKE N'api.%'
) AS q
GROUP BY
    q.lane,
    q.type,
    q.host;
GO
