SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_permission: which role may use which endpoint, job type and credential.

Purpose
    principal is a database role, or an app role where is_app_role is 1. Database roles are the boundary, app roles a
    convenience.
    This version does not read the table yet, so it takes no row: the check ending in _not_read_yet refuses every
    insert, and goes when the feature comes. A rule that is stored and not obeyed would be worse than none.
Locks
    Read only, by callers.
*/
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
