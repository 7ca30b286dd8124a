SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Upgrade to version 2, from a database that version 1 made; nothing happens on any other.

Purpose
    Runs before the tables are made. Four tables of version 1 had a check that let no row in, because nothing read them
    yet; they go, and are made new. Idempotency keys belong to an app role from now on, too.
Locks
    Sch-M on the tables it changes, until the deployment ends.
*/
IF OBJECT_ID(N'[dbo].[api_broker_endpoint_not_read_yet]', N'C') IS NOT NULL
    DROP TABLE [dbo].[api_broker_endpoint];
IF OBJECT_ID(N'[dbo].[api_broker_permission_not_read_yet]', N'C') IS NOT NULL
    DROP TABLE [dbo].[api_broker_permission];
IF OBJECT_ID(N'[dbo].[api_broker_credential_not_read_yet]', N'C') IS NOT NULL
    DROP TABLE [dbo].[api_broker_credential];
IF OBJECT_ID(N'[dbo].[api_broker_completion_not_read_yet]', N'C') IS NOT NULL
    DROP TABLE [dbo].[api_broker_completion];
IF OBJECT_ID(N'[dbo].[api_broker_idempotency]', N'U') IS NOT NULL
    AND COL_LENGTH(N'[dbo].[api_broker_idempotency]', N'app_role') IS NULL
BEGIN
    ALTER TABLE [dbo].[api_broker_idempotency]
        DROP CONSTRAINT api_broker_idempotency_pk;
    ALTER TABLE [dbo].[api_broker_idempotency]
        ADD app_role nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_idempotency_role_df DEFAULT (N'');
END;
GO
IF OBJECT_ID(N'[dbo].[api_broker_idempotency]', N'U') IS NOT NULL
    AND OBJECT_ID(N'[dbo].[api_broker_idempotency_pk]', N'PK') IS NULL
    ALTER TABLE [dbo].[api_broker_idempotency]
        ADD CONSTRAINT api_broker_idempotency_pk PRIMARY KEY CLUSTERED (owner, app_role, [key]);
GO
