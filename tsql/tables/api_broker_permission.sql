SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_permission: which role may use which endpoint, job type and credential.

Purpose
    Without a row nobody but db_owner and api_broker_admin may. A row with is_app_role = 0 gives a database role (or
    public, which is everybody who may call) the right. A row with is_app_role = 1 restricts: a session whose
    SESSION_CONTEXT key app_role was set read-only needs one for its app role as well. An app role never adds a right,
    because a session can give itself any.
Columns
    principal                 the name of a database role, public, or of an app role
    kind                      endpoint, type or credential
    name                      of the endpoint, the job type or the credential; * for all of the kind
Locks
    Read only, by callers, for the moment of the read.
*/
IF OBJECT_ID(N'[dbo].[api_broker_permission]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_permission] (
        principal nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        is_app_role bit NOT NULL
            CONSTRAINT api_broker_permission_app_df DEFAULT (0),
        kind nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_permission_kind_ck CHECK (kind IN (N'endpoint', N'type', N'credential')),
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        CONSTRAINT api_broker_permission_pk PRIMARY KEY CLUSTERED (principal, is_app_role, kind, name)
    );
GO
