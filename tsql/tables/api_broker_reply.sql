SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_reply: the correlation table, one row per answered request.

Purpose
    The request goes out through the queue and the answer comes back through this row. Rows are inserted and never
    updated: the primary key lets exactly one reply win, and an insert does not wait behind a caller who polls under
    REPEATABLE READ, which an update of the polled row would.
Columns
    state                     completed, failed, expired or cancelled
    http_status               of the answer; a 500 that arrived is a completed request
    error_class, error_message, ms_error   why a request was not carried out
    json_out, body_out, content_type       the handler's output
    attempts, worker          how often it was started, and who wrote this row
    queue_ms ... total_ms     where the time of the last attempt went
Locks
    One inserted row; pollers skip it while it is being written. No checks here: the row is written by the OUTPUT
    clause of the statement that removes the queue row, and such a target must not have any.
*/
IF OBJECT_ID(N'[dbo].[api_broker_reply]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_reply] (
        request_id bigint NOT NULL
            CONSTRAINT api_broker_reply_pk PRIMARY KEY CLUSTERED,
        state nvarchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
        http_status int NULL,
        error_class nvarchar(64) NULL,
        error_message nvarchar(2048) NULL,
        ms_error int NULL,
        json_out nvarchar(max) NULL,
        body_out varbinary(max) NULL,
        content_type nvarchar(400) NULL,
        attempts int NOT NULL,
        worker nvarchar(200) NULL,
        queue_ms int NULL,
        dns_ms int NULL,
        connect_ms int NULL,
        tls_ms int NULL,
        first_byte_ms int NULL,
        total_ms int NULL,
        completed_at datetime2(7) NOT NULL
    );
GO
