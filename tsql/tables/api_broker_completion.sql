SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_completion: completion procedures that an admin has registered.

Purpose
    The name that @on_complete gives, and the procedure, with the one parameter @id bigint, that runs when the reply
    is there: in a transaction of its own, after the reply's, as the user api_broker_completion_user, who has no right
    but to execute what the procedures' owner may.
Columns
    timeout_ms                a run is ended after it
    max_attempts              a run that fails is tried again with growing pauses, so often in all
Locks
    Read only, by callers and workers, for the moment of the read.
*/
IF OBJECT_ID(N'[dbo].[api_broker_completion]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_completion] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_completion_pk PRIMARY KEY CLUSTERED,
        procedure_schema nvarchar(128) NOT NULL,
        procedure_name nvarchar(128) NOT NULL,
        timeout_ms int NOT NULL
            CONSTRAINT api_broker_completion_timeout_df DEFAULT (30000)
            CONSTRAINT api_broker_completion_timeout_ck CHECK (timeout_ms BETWEEN 100 AND 3600000),
        max_attempts int NOT NULL
            CONSTRAINT api_broker_completion_attempts_df DEFAULT (5)
            CONSTRAINT api_broker_completion_attempts_ck CHECK (max_attempts BETWEEN 1 AND 100)
    );
GO
