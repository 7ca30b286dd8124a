SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
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
SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[dbo].[api_broker_permission]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_permission] (
        principal nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        is_app_role bit NOT NULL,
        kind nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_permission_not_read_yet CHECK (1 = 0),
        CONSTRAINT api_broker_permission_pk PRIMARY KEY CLUSTERED (principal, is_app_role, kind, name)
    );
GO
SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[dbo].[api_broker_credential]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_credential] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_credential_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_credential_not_read_yet CHECK (1 = 0),
        endpoint nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
    );
GO
SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[dbo].[api_broker_completion]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_completion] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_completion_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_completion_not_read_yet CHECK (1 = 0),
        procedure_schema nvarchar(128) NOT NULL,
        procedure_name nvarchar(128) NOT NULL
    );
GO
SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[dbo].[api_broker_idempotency]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[api_broker_idempotency] (
        owner nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        [key] nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
        request_hash varbinary(32) NOT NULL,
        request_id bigint NOT NULL,
        expires_at datetime2(7) NOT NULL,
        CONSTRAINT api_broker_idempotency_pk PRIMARY KEY CLUSTERED (owner, [key])
    );

    CREATE NONCLUSTERED INDEX api_broker_idempotency_expires_idx
        ON [dbo].[api_broker_idempotency] (expires_at);
END;
GO
SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
IF OBJECT_ID(N'[dbo].[api_broker_setting]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_setting] (
        id tinyint NOT NULL
            CONSTRAINT api_broker_setting_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_setting_one_row CHECK (id = 1),
        link_server nvarchar(128) NULL,
        max_wait_ms int NOT NULL
            CONSTRAINT api_broker_setting_max_wait_df DEFAULT (120000)
            CONSTRAINT api_broker_setting_max_wait_ck CHECK (max_wait_ms BETWEEN 0 AND 3600000),
        max_waiters int NOT NULL
            CONSTRAINT api_broker_setting_max_waiters_df DEFAULT (100)
            CONSTRAINT api_broker_setting_max_waiters_ck CHECK (max_waiters BETWEEN 1 AND 30000),
        max_body_bytes int NOT NULL
            CONSTRAINT api_broker_setting_max_body_df DEFAULT (10485760)
            CONSTRAINT api_broker_setting_max_body_ck CHECK (max_body_bytes BETWEEN 0 AND 536870912),
        max_timeout_ms int NOT NULL
            CONSTRAINT api_broker_setting_max_timeout_df DEFAULT (230000)
            CONSTRAINT api_broker_setting_max_timeout_ck CHECK (max_timeout_ms BETWEEN 1 AND 86400000),
        default_max_attempts int NOT NULL
            CONSTRAINT api_broker_setting_attempts_df DEFAULT (3)
            CONSTRAINT api_broker_setting_attempts_ck CHECK (default_max_attempts BETWEEN 1 AND 100),
        default_expires_ms int NOT NULL
            CONSTRAINT api_broker_setting_expires_df DEFAULT (86400000)
            CONSTRAINT api_broker_setting_expires_ck CHECK (default_expires_ms > 0),
        worker_alive_ms int NOT NULL
            CONSTRAINT api_broker_setting_alive_df DEFAULT (10000)
            CONSTRAINT api_broker_setting_alive_ck CHECK (worker_alive_ms BETWEEN 100 AND 3600000),
        allow_sensitive_headers bit NOT NULL
            CONSTRAINT api_broker_setting_sensitive_df DEFAULT (0),
        retention_hours int NOT NULL
            CONSTRAINT api_broker_setting_retention_df DEFAULT (168)
            CONSTRAINT api_broker_setting_retention_ck CHECK (retention_hours BETWEEN 1 AND 87600),
        dead_letter_hours int NOT NULL
            CONSTRAINT api_broker_setting_dead_letter_df DEFAULT (720)
            CONSTRAINT api_broker_setting_dead_letter_ck CHECK (dead_letter_hours BETWEEN 1 AND 87600),
        idempotency_hours int NOT NULL
            CONSTRAINT api_broker_setting_idempotency_df DEFAULT (24)
            CONSTRAINT api_broker_setting_idempotency_ck CHECK (idempotency_hours BETWEEN 1 AND 8760),
        schema_version int NOT NULL
    );
GO
INSERT INTO [dbo].[api_broker_setting] (id, link_server, schema_version) VALUES (1, N'LinkedProjServer', 1);
INSERT INTO [dbo].[api_broker_idempotency] (owner, [key], request_hash, request_id, expires_at)
VALUES (N'somebody', N'k', 0x01, 1, DATEADD(hour, 1, SYSUTCDATETIME()));
GO
