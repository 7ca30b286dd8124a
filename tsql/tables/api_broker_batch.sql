SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_batch: which requests were sent together.

Purpose
    Only ints travel back over the loopback, so a batch of requests is found again by the id that its sender chose.
Columns
    ordinal                   the place of the request in the batch, from 0
Locks
    Inserted with the requests, read by the sender who waits, removed after retention.
*/
IF OBJECT_ID(N'[dbo].[api_broker_batch]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[api_broker_batch] (
        batch_id uniqueidentifier NOT NULL,
        ordinal int NOT NULL,
        request_id bigint NOT NULL,
        created_at datetime2(7) NOT NULL,
        CONSTRAINT api_broker_batch_pk PRIMARY KEY CLUSTERED (batch_id, ordinal)
    );
    CREATE NONCLUSTERED INDEX api_broker_batch_created_idx
        ON [dbo].[api_broker_batch] (created_at);
END;
GO
