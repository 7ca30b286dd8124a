/*
The allow-list, and how many permissions each row has.
Result: the columns of api_broker_endpoint but reset_at, and permissions int.
*/
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
    (
        SELECT COUNT(*)
        FROM [dbo].[api_broker_permission] AS p
        WHERE p.kind = N'endpoint'
            AND p.is_app_role = 0
            AND p.name IN (e.name, N'*')
    ) AS permissions
FROM [dbo].[api_broker_endpoint] AS e
ORDER BY e.name;
