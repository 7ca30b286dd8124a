SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_idempotency: which request a key stands for.

Purpose
    The same key with the same request gets the first request and its reply; the same key with another request is
    error 54035. Keys belong to the caller's login and app role. Keys with surrounding blanks are refused before they come here,
    because "=" pads with blanks even under a binary collation.
Locks
    One inserted row per keyed request; two callers with the same new key wait for each other, at most LOCK_TIMEOUT.
*/
IF OBJECT_ID(N'[dbo].[api_broker_idempotency]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[api_broker_idempotency] (
        owner nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        app_role nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_idempotency_role_df DEFAULT (N''),
        [key] nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
        request_hash varbinary(32) NOT NULL,
        request_id bigint NOT NULL,
        expires_at datetime2(7) NOT NULL,
        CONSTRAINT api_broker_idempotency_pk PRIMARY KEY CLUSTERED (owner, app_role, [key])
    );

    CREATE NONCLUSTERED INDEX api_broker_idempotency_expires_idx
        ON [dbo].[api_broker_idempotency] (expires_at);
END;
GO
