SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
View api_broker_host_state: what the workers know about the hosts they call.

Purpose
    One row per worker process and host whose breaker is not closed or that is busy. sp_api_reset_host closes a
    breaker.
Columns
    host                      scheme://host:port
    state                     closed, half_open or open
    open_ms                   how long it is still open
    age_ms                    how old the worker's word is
Locks
    None: it reads without.
*/
CREATE OR ALTER VIEW [dbo].[api_broker_host_state]
AS
SELECT
    h.host,
    h.worker_id,
    h.state,
    h.failures,
    h.in_flight,
    CASE WHEN h.open_until > SYSUTCDATETIME() THEN DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), h.open_until) ELSE 0 END AS open_ms,
    DATEDIFF_BIG(millisecond, h.updated_at, SYSUTCDATETIME()) AS age_ms
FROM [dbo].[api_broker_host] AS h WITH (NOLOCK);
GO
