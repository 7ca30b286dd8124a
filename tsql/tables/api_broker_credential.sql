SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_credential: names of credentials, each bound to an endpoint.

Purpose
    The name that @credential gives and the endpoint it may be sent to. The secret itself lives with the worker and
    is never in SQL.
    This version does not read the table yet, so it takes no row: the check ending in _not_read_yet refuses every
    insert, and goes when the feature comes. A rule that is stored and not obeyed would be worse than none.
Locks
    Read only, by callers and workers.
*/
IF OBJECT_ID(N'[dbo].[api_broker_credential]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_credential] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_credential_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_credential_not_read_yet CHECK (1 = 0),
        endpoint nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
    );
GO
