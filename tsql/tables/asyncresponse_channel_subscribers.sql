SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table asyncresponse_channel_subscribers: who waits right now, kept alive by heartbeats.

Purpose
    A publisher reads here whether a live waiter exists for a correlation id. Shared with .NET programs; the shape is
    theirs.
Locks
    One row per waiter; heartbeats update the rows of one process in bounded batches.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_channel_subscribers]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[asyncresponse_channel_subscribers] (
        correlation_id nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        registration_id uniqueidentifier NOT NULL,
        instance_id nvarchar(200) NOT NULL,
        expires_at datetime2(7) NOT NULL,
        CONSTRAINT asyncresponse_channel_subscribers_pk PRIMARY KEY CLUSTERED (correlation_id, registration_id)
    );

    CREATE NONCLUSTERED INDEX asyncresponse_channel_subscribers_expires_idx
        ON [dbo].[asyncresponse_channel_subscribers] (expires_at);
END;
GO
