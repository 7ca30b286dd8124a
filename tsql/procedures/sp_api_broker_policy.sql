SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_policy: what workers must know of the rows that an admin edits.

Purpose
    Every worker asks every few seconds, so a change needs no restart. The worker checks each request against these
    rows again before it dials.
Parameters
    None.
Result set
    First the endpoints, enabled or not: name, scheme, host, port, path_prefix, methods, enabled,
    allow_private_address, max_concurrency, max_per_second, burst, breaker_failures, breaker_open_ms, max_redirects,
    proxy, client_certificate, reset_at.
    Second the credentials: name, endpoint, kind, field.
    Third one row: workers, how many live workers serve http and so share the limits, and schema_version.
Return codes
    0
Errors
    None of its own.
Locks
    Shared locks for the moment of the read.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_policy]
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        e.name,
        e.scheme,
        e.host,
        e.port,
        e.path_prefix,
        e.methods,
        e.enabled,
        e.allow_private_address,
        e.max_concurrency,
        e.max_per_second,
        e.burst,
        e.breaker_failures,
        e.breaker_open_ms,
        e.max_redirects,
        e.proxy,
        e.client_certificate,
        e.reset_at
    FROM [dbo].[api_broker_endpoint] AS e
    ORDER BY e.name;

    SELECT
        c.name,
        c.endpoint,
        c.kind,
        c.field
    FROM [dbo].[api_broker_credential] AS c
    ORDER BY c.name;

    SELECT
        (
            SELECT COUNT(1)
            FROM [dbo].[api_broker_worker] AS w
            WHERE w.types LIKE N'%,http,%'
                AND w.heartbeat_at >= DATEADD(millisecond, -s.worker_alive_ms, SYSUTCDATETIME())
        ) AS workers,
        s.schema_version
    FROM [dbo].[api_broker_setting] AS s
    WHERE s.id = 1;
    RETURN 0;
END;
GO
