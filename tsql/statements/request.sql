/*
One request and its reply, as its owner or an admin sees it.
Parameters: @id bigint.
Result: no row when the id is unknown to the reader; else one row of the columns below.
*/
SELECT
    q.id,
    q.type,
    q.state,
    q.json_in,
    q.json_out,
    q.body_out,
    q.content_type,
    q.http_status,
    q.error_class,
    q.error_message,
    q.ms_error,
    q.lane,
    q.requested_by,
    q.attempts,
    q.max_attempts,
    q.worker,
    q.created_at,
    q.expires_at,
    q.completed_at,
    q.queue_ms,
    q.dns_ms,
    q.connect_ms,
    q.tls_ms,
    q.first_byte_ms,
    q.total_ms
FROM [dbo].[api_broker_request] AS q
WHERE q.id = @id;
