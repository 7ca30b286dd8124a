SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_completion: completion procedures that an admin has registered.

Purpose
    The name that @on_complete gives, and the procedure, with the one parameter @id bigint, that runs when the reply
    is there.
    This version does not read the table yet, so it takes no row: the check ending in _not_read_yet refuses every
    insert, and goes when the feature comes. A rule that is stored and not obeyed would be worse than none.
Locks
    Read only, by callers and workers.
*/
IF OBJECT_ID(N'[dbo].[api_broker_completion]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_completion] (
        name nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_completion_pk PRIMARY KEY CLUSTERED
            CONSTRAINT api_broker_completion_not_read_yet CHECK (1 = 0),
        procedure_schema nvarchar(128) NOT NULL,
        procedure_name nvarchar(128) NOT NULL
    );
GO
