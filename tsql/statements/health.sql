/*
The health of the broker.
Result: one row: status, reason, workers_alive, due, in_flight, oldest_due_age_ms, dead_letters, open_breakers.
*/
SELECT
    h.status,
    h.reason,
    h.workers_alive,
    h.due,
    h.in_flight,
    h.oldest_due_age_ms,
    h.dead_letters,
    h.open_breakers
FROM [dbo].[api_broker_health] AS h;
