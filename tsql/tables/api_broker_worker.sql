SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_worker: one row per worker process, renewed by its heartbeat.

Purpose
    A caller who is about to wait reads here whether anybody serves its type of job, instead of finding out by a
    timeout. Times are the database's.
Columns
    id                        names one run of one process
    types                     what it has handlers for, as ",http,file,": a comma on both sides of every type
Locks
    One updated row per heartbeat. Callers read without locks: a stale answer costs them nothing but a wait.
*/
IF OBJECT_ID(N'[dbo].[api_broker_worker]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_worker] (
        id nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT api_broker_worker_pk PRIMARY KEY CLUSTERED,
        host nvarchar(200) NOT NULL,
        pid int NOT NULL,
        version nvarchar(64) NOT NULL,
        started_at datetime2(7) NOT NULL,
        heartbeat_at datetime2(7) NOT NULL,
        slots int NOT NULL,
        busy int NOT NULL,
        types nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL
    );
GO
