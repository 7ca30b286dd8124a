/*
Makes or replaces a row of the allow-list, and gives a principal the permission to use it.
Parameters: @name, @scheme, @host, @port, @path_prefix, @methods, @enabled, @allow_private_address, @max_concurrency,
@max_per_second, @burst, @breaker_failures, @breaker_open_ms, @max_redirects, @proxy, @client_certificate as the columns;
@principal a database role or public, NULL for nobody.
*/
UPDATE [dbo].[api_broker_endpoint]
SET scheme = @scheme,
    host = @host,
    port = @port,
    path_prefix = @path_prefix,
    methods = @methods,
    enabled = @enabled,
    allow_private_address = @allow_private_address,
    max_concurrency = @max_concurrency,
    max_per_second = @max_per_second,
    burst = @burst,
    breaker_failures = @breaker_failures,
    breaker_open_ms = @breaker_open_ms,
    max_redirects = @max_redirects,
    proxy = @proxy,
    client_certificate = @client_certificate
WHERE name = @name;

IF @@ROWCOUNT = 0
    INSERT INTO [dbo].[api_broker_endpoint] (
        name,
        scheme,
        host,
        port,
        path_prefix,
        methods,
        enabled,
        allow_private_address,
        max_concurrency,
        max_per_second,
        burst,
        breaker_failures,
        breaker_open_ms,
        max_redirects,
        proxy,
        client_certificate)
    VALUES (
        @name,
        @scheme,
        @host,
        @port,
        @path_prefix,
        @methods,
        @enabled,
        @allow_private_address,
        @max_concurrency,
        @max_per_second,
        @burst,
        @breaker_failures,
        @breaker_open_ms,
        @max_redirects,
        @proxy,
        @client_certificate);

INSERT INTO [dbo].[api_broker_permission] (
    principal,
    is_app_role,
    kind,
    name)
SELECT
    @principal,
    0,
    N'endpoint',
    @name
WHERE @principal IS NOT NULL
    AND NOT EXISTS (
        SELECT 1
        FROM [dbo].[api_broker_permission] AS p
        WHERE p.principal = @principal
            AND p.is_app_role = 0
            AND p.kind = N'endpoint'
            AND p.name = @name);
