SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_cancel: running requests that were called off.

Purpose
    sp_api_cancel writes the row, the next heartbeat of the worker that runs the request reads it, and the row goes
    with the request.
Locks
    One inserted row per cancelled request; heartbeats skip a row that is not committed.
*/
IF OBJECT_ID(N'[dbo].[api_broker_cancel]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_cancel] (
        request_id bigint NOT NULL
            CONSTRAINT api_broker_cancel_pk PRIMARY KEY CLUSTERED,
        requested_by nvarchar(128) NOT NULL,
        requested_at datetime2(7) NOT NULL
    );
GO
