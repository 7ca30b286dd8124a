SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_credential: names of credentials, each bound to an endpoint.

Purpose
    The name that @credential gives, the endpoint it may be sent to, and where in the request it goes. The secret
    itself lives with the worker, in its environment or a file, and is never in SQL.
Columns
    endpoint                  a request that another endpoint row matches cannot use the credential
    kind                      bearer, basic, header, query or certificate
    field                     the name of the header or of the query parameter, for those two kinds
Locks
    Read only, by callers and workers, for the moment of the read.
*/
IF OBJECT_ID(N'[dbo].[api_broker_credential]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_credential] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_credential_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_credential_name_ck CHECK (name <> N'' AND name NOT LIKE N'%[^0-9A-Za-z_.-]%'),
        endpoint nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        kind nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_credential_kind_df DEFAULT (N'bearer')
            CONSTRAINT api_broker_credential_kind_ck CHECK (kind IN (N'bearer', N'basic', N'header', N'query', N'certificate')),
        field nvarchar(128) COLLATE Latin1_General_100_BIN2 NULL
            CONSTRAINT api_broker_credential_field_ck CHECK (field <> N'' AND field NOT LIKE N'%[^0-9A-Za-z_.-]%')
    );
GO
