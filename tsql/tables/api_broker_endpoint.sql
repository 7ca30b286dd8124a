SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_endpoint: the allow-list, and the limits of each endpoint.

Purpose
    One row per endpoint: exact scheme, host and port, and a path prefix that ends at a segment boundary.
    This version does not read the table yet, so it takes no row: the check ending in _not_read_yet refuses every
    insert, and goes when the feature comes. A rule that is stored and not obeyed would be worse than none.
Locks
    Read only, by callers and workers.
*/
IF OBJECT_ID(N'[dbo].[api_broker_endpoint]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_endpoint] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_endpoint_not_read_yet CHECK (1 = 0),
        scheme nvarchar(5) COLLATE Latin1_General_100_BIN2 NOT NULL,
        host nvarchar(253) COLLATE Latin1_General_100_BIN2 NOT NULL,
        port int NOT NULL,
        path_prefix nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_endpoint_path_df DEFAULT (N'/'),
        allow_private_address bit NOT NULL
            CONSTRAINT api_broker_endpoint_private_df DEFAULT (0),
        max_concurrency int NULL,
        max_per_second int NULL
    );
GO
