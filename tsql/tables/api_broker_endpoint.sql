SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_endpoint: the allow-list, and the limits of each endpoint.

Purpose
    One row per endpoint that may be called: exact scheme, host and port, and a path prefix that ends at a segment
    boundary. With no row nothing is called. An admin edits the rows; callers are checked against them at the call,
    workers pick changes up within seconds and check again before they dial.
Columns
    name                      what permissions and credentials refer to
    host                      lower case, punycode, without a final dot; an IPv6 address without brackets
    path_prefix               /v1 allows /v1 and /v1/x, not /v10
    methods                   the methods that may be used, as GET,POST; NULL for all
    enabled                   0 is as if the row were not there
    allow_private_address     1 lets the name resolve to a loopback, private or link-local address
    max_concurrency, max_per_second, burst   limits of all workers together, NULL for none. They count per scheme,
                              host and port: where several rows name one host, the smallest holds
    breaker_failures          so many failed attempts within a minute, if they are half of all or more, open the
                              host's breaker; 0 for no breaker
    breaker_open_ms           how long it stays open before one attempt is let through
    max_redirects             how many redirects one attempt follows, each hop checked like the first
    proxy                     the HTTP proxy that leads there, as http://host:port
    client_certificate        the credential that holds the certificate to present
    reset_at                  a new value closes the host's breaker in every worker; see sp_api_reset_host
Locks
    Read only, by callers and workers, for the moment of the read.
*/
IF OBJECT_ID(N'[dbo].[api_broker_endpoint]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[api_broker_endpoint] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_pk PRIMARY KEY CLUSTERED,
        scheme nvarchar(5) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_scheme_ck CHECK (scheme IN (N'http', N'https')),
        host nvarchar(253) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_host_ck CHECK (host <> N'' AND host = LOWER(host) AND host NOT LIKE N'%[^0-9a-z._:-]%' AND host NOT LIKE N'%.'),
        port int NOT NULL
            CONSTRAINT api_broker_endpoint_port_ck CHECK (port BETWEEN 1 AND 65535),
        path_prefix nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_path_df DEFAULT (N'/')
            CONSTRAINT api_broker_endpoint_path_ck CHECK (path_prefix = N'/' OR (path_prefix LIKE N'/%[^/]' AND path_prefix NOT LIKE N'%[^!-~]%' AND path_prefix NOT LIKE N'%[?#%\]%' AND path_prefix + N'/' NOT LIKE N'%/./%' AND path_prefix + N'/' NOT LIKE N'%/../%')),
        methods nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL
            CONSTRAINT api_broker_endpoint_methods_ck CHECK (methods <> N'' AND methods NOT LIKE N'%[^A-Z,]%'),
        enabled bit NOT NULL
            CONSTRAINT api_broker_endpoint_enabled_df DEFAULT (1),
        allow_private_address bit NOT NULL
            CONSTRAINT api_broker_endpoint_private_df DEFAULT (0),
        max_concurrency int NULL
            CONSTRAINT api_broker_endpoint_concurrency_ck CHECK (max_concurrency > 0),
        max_per_second int NULL
            CONSTRAINT api_broker_endpoint_rate_ck CHECK (max_per_second > 0),
        burst int NULL
            CONSTRAINT api_broker_endpoint_burst_ck CHECK (burst > 0),
        breaker_failures int NOT NULL
            CONSTRAINT api_broker_endpoint_breaker_df DEFAULT (10)
            CONSTRAINT api_broker_endpoint_breaker_ck CHECK (breaker_failures >= 0),
        breaker_open_ms int NOT NULL
            CONSTRAINT api_broker_endpoint_open_df DEFAULT (30000)
            CONSTRAINT api_broker_endpoint_open_ck CHECK (breaker_open_ms BETWEEN 100 AND 3600000),
        max_redirects int NOT NULL
            CONSTRAINT api_broker_endpoint_redirects_df DEFAULT (0)
            CONSTRAINT api_broker_endpoint_redirects_ck CHECK (max_redirects BETWEEN 0 AND 20),
        proxy nvarchar(400) NULL,
        client_certificate nvarchar(128) COLLATE Latin1_General_100_BIN2 NULL,
        reset_at datetime2(7) NULL
    );
    CREATE NONCLUSTERED INDEX api_broker_endpoint_host_idx
        ON [dbo].[api_broker_endpoint] (host, port);
END;
GO
