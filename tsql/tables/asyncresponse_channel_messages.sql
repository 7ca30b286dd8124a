SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table asyncresponse_channel_messages: published responses, until they expire.

Purpose
    What the sweep of a waiting program reads by correlation id. acked_at with acked_seq says that a live waiter has
    it; recovery_claimed says that the publisher gave it to recovery. Both are claimed by conditional updates, so one
    response has one owner. Shared with .NET programs; the shape is theirs, but for the clustered index, which they
    leave to a heap.
Locks
    One row per response.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_channel_messages]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[asyncresponse_channel_messages] (
        id uniqueidentifier NOT NULL
            CONSTRAINT asyncresponse_channel_messages_pk PRIMARY KEY NONCLUSTERED,
        correlation_id nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        envelope_json nvarchar(max) NOT NULL,
        created_at datetime2(7) NOT NULL
            CONSTRAINT asyncresponse_channel_messages_created_df DEFAULT (SYSUTCDATETIME()),
        expires_at datetime2(7) NOT NULL,
        acked_at datetime2(7) NULL,
        acked_seq bigint NULL,
        recovery_claimed bit NOT NULL
            CONSTRAINT asyncresponse_channel_messages_claimed_df DEFAULT (0)
    );

    CREATE CLUSTERED INDEX asyncresponse_channel_messages_correlation_created_idx
        ON [dbo].[asyncresponse_channel_messages] (correlation_id, created_at);

    CREATE NONCLUSTERED INDEX asyncresponse_channel_messages_expires_idx
        ON [dbo].[asyncresponse_channel_messages] (expires_at);
END;
GO
