/*
What live workers say about the hosts they call.
Result: host, worker_id, state, failures, in_flight, open_ms, age_ms.
*/
SELECT
    h.host,
    h.worker_id,
    h.state,
    h.failures,
    h.in_flight,
    h.open_ms,
    h.age_ms
FROM [dbo].[api_broker_host_state] AS h
ORDER BY
    h.host,
    h.worker_id;
