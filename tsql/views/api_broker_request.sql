SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
View api_broker_request: a request and its reply in one row.

Purpose
    SELECT json_out FROM api_broker_request WHERE id = @id, and everything else there is to know about a request. A
    reader sees its own requests, by original login and app role; db_owner and api_broker_admin see all. A view cannot
    tell whether the app role was set read-only: database roles are the boundary, app roles are a convenience. Nobody is
    an admin here who is impersonated, whatever module reads.
    The server may try a reader's own condition before ours, and an error in it quotes what it was given; so contents
    are NULL in rows of others, wherever they are looked at.
Columns
    state                     queued or running as long as there is no reply, then the reply's
Locks
    Whatever the reader's isolation level takes on the call and the reply. The queue row is read without locks, for
    the word running only.
*/
CREATE OR ALTER VIEW [dbo].[api_broker_request]
AS
SELECT
    c.id,
    c.type,
    CASE WHEN a.mine = 1 THEN c.json_in END AS json_in,
    CASE WHEN a.mine = 1 THEN r.json_out END AS json_out,
    COALESCE(r.state, CASE WHEN m.locked_until > SYSUTCDATETIME() THEN N'running' ELSE N'queued' END) AS state,
    r.http_status,
    r.error_class,
    CASE WHEN a.mine = 1 THEN r.error_message END AS error_message,
    r.ms_error,
    CASE WHEN a.mine = 1 THEN c.body_in END AS body_in,
    CASE WHEN a.mine = 1 THEN r.body_out END AS body_out,
    r.content_type,
    c.lane,
    c.requested_by,
    CASE WHEN a.mine = 1 THEN c.app_user END AS app_user,
    c.app_role,
    c.session_id,
    c.transaction_id,
    c.created_at,
    c.expires_at,
    c.max_attempts,
    c.attempt_timeout_ms,
    COALESCE(r.attempts, m.attempts) AS attempts,
    r.worker,
    r.queue_ms,
    r.dns_ms,
    r.connect_ms,
    r.tls_ms,
    r.first_byte_ms,
    r.total_ms,
    r.completed_at
FROM [dbo].[api_broker_call] AS c
LEFT JOIN [dbo].[api_broker_reply] AS r
    ON r.request_id = c.id
LEFT JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (NOLOCK)
    ON m.id = c.message_id
CROSS APPLY (
    SELECT CASE
        WHEN c.requested_by + N'.' = ORIGINAL_LOGIN() + N'.' COLLATE Latin1_General_100_BIN2
            AND (c.app_role IS NULL OR c.app_role = CONVERT(nvarchar(100), SESSION_CONTEXT(N'app_role')))
            THEN 1
        WHEN SUSER_SNAME() = ORIGINAL_LOGIN()
            AND (IS_ROLEMEMBER(N'db_owner') = 1 OR IS_ROLEMEMBER(N'api_broker_admin') = 1)
            THEN 1
        ELSE 0
    END AS mine
) AS a
WHERE a.mine = 1;
GO
