SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
View api_broker_health: one row that says whether the broker works.

Purpose
    The first number to watch is oldest_due_age_ms: it grows when workers are gone, too few, or do not serve a type.
Columns
    workers_alive             worker processes whose heartbeat is young enough
    due, in_flight            requests that a worker could take now, and that workers have
    oldest_due_age_ms         since when the longest due of them is; 0 when none is
    dead_letters              buried rows
    open_breakers             hosts that some worker does not call just now
    status                    red: no worker lives while requests are due, or one has been due for a minute; yellow: no
                              worker lives, one has been due for ten seconds, a breaker is open, or something is
                              buried; else green
    reason                    the first of these that holds
Locks
    None: it reads without.
*/
CREATE OR ALTER VIEW [dbo].[api_broker_health]
AS
SELECT
    h.workers_alive,
    h.oldest_due_age_ms,
    h.due,
    h.in_flight,
    h.dead_letters,
    h.open_breakers,
    CASE
        WHEN h.due > 0 AND h.workers_alive = 0 THEN N'red'
        WHEN h.oldest_due_age_ms >= 60000 THEN N'red'
        WHEN h.workers_alive = 0 THEN N'yellow'
        WHEN h.oldest_due_age_ms >= 10000 THEN N'yellow'
        WHEN h.open_breakers > 0 THEN N'yellow'
        WHEN h.dead_letters > 0 THEN N'yellow'
        ELSE N'green'
    END AS status,
    CASE
        WHEN h.due > 0 AND h.workers_alive = 0 THEN N'requests are due and no worker lives'
        WHEN h.oldest_due_age_ms >= 60000 THEN N'a request has been due for a minute'
        WHEN h.workers_alive = 0 THEN N'no worker lives'
        WHEN h.oldest_due_age_ms >= 10000 THEN N'a request has been due for ten seconds'
        WHEN h.open_breakers > 0 THEN N'a circuit breaker is open'
        WHEN h.dead_letters > 0 THEN N'there are dead letters'
        ELSE N''
    END AS reason
FROM (
    SELECT
        (
            SELECT COUNT(1)
            FROM [dbo].[api_broker_worker] AS w WITH (NOLOCK)
            WHERE w.heartbeat_at >= DATEADD(millisecond, -s.worker_alive_ms, SYSUTCDATETIME())
        ) AS workers_alive,
        COALESCE(q.oldest_due_age_ms, 0) AS oldest_due_age_ms,
        COALESCE(q.due, 0) AS due,
        COALESCE(q.in_flight, 0) AS in_flight,
        COALESCE(q.dead_letters, 0) AS dead_letters,
        (
            SELECT COUNT(DISTINCT o.host)
            FROM [dbo].[api_broker_host] AS o WITH (NOLOCK)
            WHERE o.state <> N'closed'
        ) AS open_breakers
    FROM [dbo].[api_broker_setting] AS s WITH (NOLOCK)
    CROSS APPLY (
        SELECT
            SUM(CASE WHEN m.queue <> N'api.deadletter' AND m.available_at <= SYSUTCDATETIME() AND (m.locked_until IS NULL OR m.locked_until <= SYSUTCDATETIME()) THEN CONVERT(bigint, 1) ELSE 0 END) AS due,
            SUM(CASE WHEN m.locked_until > SYSUTCDATETIME() THEN CONVERT(bigint, 1) ELSE 0 END) AS in_flight,
            SUM(CASE WHEN m.queue = N'api.deadletter' THEN CONVERT(bigint, 1) ELSE 0 END) AS dead_letters,
            MAX(CASE WHEN m.queue <> N'api.deadletter' AND m.available_at <= SYSUTCDATETIME() AND (m.locked_until IS NULL OR m.locked_until <= SYSUTCDATETIME()) THEN DATEDIFF_BIG(millisecond, m.available_at, SYSUTCDATETIME()) END) AS oldest_due_age_ms
        FROM [dbo].[asyncresponse_transport_messages] AS m WITH (NOLOCK)
        WHERE m.queue LIKE N'api.%'
    ) AS q
    WHERE s.id = 1
) AS h;
GO
