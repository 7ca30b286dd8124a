SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
View api_broker_dead_letter: what was buried, and why.

Purpose
    One row per buried queue row. A row with a request can be redriven by it (sp_api_redrive); one without is no request
    of ours and can only be removed (sp_api_purge_dead_letters, and the janitor after dead_letter_hours).
Columns
    message_id                of the queue row
    request_id                NULL where the row names no request, or one that is gone
    type, url                 of the request; the URL of HTTP requests only
    reason                    why it was buried
    attempts                  how often it was claimed
    buried_at                 when
    age_ms                    how long ago
Locks
    None: it reads without.
*/
CREATE OR ALTER VIEW [dbo].[api_broker_dead_letter]
AS
SELECT
    m.id AS message_id,
    c.id AS request_id,
    c.type,
    JSON_VALUE(CASE WHEN c.type = N'http' AND ISJSON(c.json_in) = 1 THEN c.json_in END, N'$.url') AS url,
    c.requested_by,
    r.error_class,
    m.dead_letter_reason AS reason,
    m.attempts,
    m.available_at AS buried_at,
    DATEDIFF_BIG(millisecond, m.available_at, SYSUTCDATETIME()) AS age_ms
FROM [dbo].[asyncresponse_transport_messages] AS m WITH (NOLOCK)
LEFT JOIN [dbo].[api_broker_call] AS c WITH (NOLOCK)
    ON c.id = TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id'))
LEFT JOIN [dbo].[api_broker_reply] AS r WITH (NOLOCK)
    ON r.request_id = c.id
WHERE m.queue = N'api.deadletter';
GO
