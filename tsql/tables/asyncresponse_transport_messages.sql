SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table asyncresponse_transport_messages: the queue, many logical queues in one table.

Purpose
    A row is one message of one logical queue. The broker's own queues are the lanes api.wait, api.normal and api.low,
    and api.deadletter for what was buried; worker, response and deadletter belong to Go and .NET programs.
Columns
    available_at              nobody claims the row before. A claim moves it to the end of the lease, so that leased
                              rows sort behind the ready ones and no claim reads them again
    locked_until, lock_id     the lease, and the token that fences what its holder may still do
    attempts                  raised by the claim, not by a failure: a crash counts too
Keys
    Clustered on (queue, available_at, created_at), exactly the order of a claim: it is a seek at every size, and
    deleted rows give their pages back, which a heap would not do. Our deployment makes it so; a hand-made table
    with the same columns is accepted.
Locks
    Row locks only: lock escalation is off, because READPAST does not skip a table lock, and so are page locks.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_transport_messages]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[asyncresponse_transport_messages] (
        id uniqueidentifier NOT NULL
            CONSTRAINT asyncresponse_transport_messages_pk PRIMARY KEY NONCLUSTERED WITH (ALLOW_PAGE_LOCKS = OFF),
        queue nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
        payload_json nvarchar(max) NOT NULL,
        headers_json nvarchar(max) NOT NULL
            CONSTRAINT asyncresponse_transport_messages_headers_df DEFAULT (N'{}'),
        created_at datetime2(7) NOT NULL
            CONSTRAINT asyncresponse_transport_messages_created_df DEFAULT (SYSUTCDATETIME()),
        available_at datetime2(7) NOT NULL
            CONSTRAINT asyncresponse_transport_messages_available_df DEFAULT (SYSUTCDATETIME()),
        locked_until datetime2(7) NULL,
        lock_id uniqueidentifier NULL,
        attempts int NOT NULL
            CONSTRAINT asyncresponse_transport_messages_attempts_df DEFAULT (0),
        dead_letter_reason nvarchar(max) NULL
    );

    CREATE CLUSTERED INDEX asyncresponse_transport_messages_ready_idx
        ON [dbo].[asyncresponse_transport_messages] (queue, available_at, created_at)
        WITH (ALLOW_PAGE_LOCKS = OFF);

    ALTER TABLE [dbo].[asyncresponse_transport_messages]
        SET (LOCK_ESCALATION = DISABLE);
END;
GO
