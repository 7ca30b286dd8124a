SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_host: what each worker process knows about the hosts it calls.

Purpose
    A worker's heartbeat writes one row for each host whose breaker is not closed or that is busy, and removes the
    others. api_broker_host_state shows them.
Columns
    host                      scheme://host:port
    state                     closed, half_open or open
    failures                  failed attempts that the breaker counts
    in_flight                 attempts under way
    open_until                when the next attempt may be made, by the database's clock
Locks
    The worker's own rows.
*/
IF OBJECT_ID(N'[dbo].[api_broker_host]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_host] (
        worker_id nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
        host nvarchar(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
        state nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
        failures int NOT NULL,
        in_flight int NOT NULL,
        open_until datetime2(7) NULL,
        updated_at datetime2(7) NOT NULL,
        CONSTRAINT api_broker_host_pk PRIMARY KEY CLUSTERED (worker_id, host)
    );
GO
