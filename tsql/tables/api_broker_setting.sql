SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_setting: one row of typed settings, so that a call reads all of them with one seek.

Purpose
    What an admin may change in SQL. Workers and procedures pick a change up at their next read; nothing is cached
    longer than one call. The row is made by deployment and never replaced by it; only schema_version is.
Columns
    link_server               the loopback linked server; NULL where there is none (Azure SQL Database)
    max_wait_ms               the longest @wait
    max_waiters               how many callers may wait at the same time; each of them holds a worker thread
    max_body_bytes            the largest request body as it is stored: nvarchar counts two bytes a character
    max_timeout_ms            the longest @timeout_ms
    default_max_attempts      @max_attempts when it is not given
    default_expires_ms        @expires_ms when it is not given
    worker_alive_ms           a worker whose last heartbeat is older does not count as alive
    allow_sensitive_headers   1 lets Authorization, Cookie and the like into @headers, and so into a table
    retention_hours           how long an answered request can be collected
    dead_letter_hours         how long buried queue rows are kept
    idempotency_hours         how long an idempotency key answers with the first request
    schema_version            the version of the objects around this row; a worker of another version refuses to start
Locks
    Readers take a shared lock on the one row for the moment of the read.
*/
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
