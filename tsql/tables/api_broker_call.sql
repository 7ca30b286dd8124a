SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table api_broker_call: one row per request, never changed after it was inserted.

Purpose
    What was asked for, by whom, under which limits. The queue row holds only the id, so a claim moves a narrow row
    and the body is written once and read once. A redrive is a new row that names the old one.
Columns
    type                      names the handler: http, file, render, ...
    json_in, body_in          the handler's input; body_in is the binary part
    lane, message_id          the logical queue and the row in it
    requested_by              the original login of the caller
    app_user, app_role        who the application said it acts for, for the record
    session_id, transaction_id  of the caller, for the record
    expires_at                the last instant at which the request may be started for the first time
    max_attempts              how often it may be started
    attempt_timeout_ms        bounds one attempt in the worker
    on_complete               a registered completion procedure; no request has one yet
    redrive_of                the request that this one repeats; no request has one yet
Locks
    One inserted row. No foreign keys, no triggers, no checks: this table is hot.
*/
IF OBJECT_ID(N'[dbo].[api_broker_call]', N'U') IS NULL
    CREATE TABLE [dbo].[api_broker_call] (
        id bigint IDENTITY(1, 1) NOT NULL
            CONSTRAINT api_broker_call_pk PRIMARY KEY CLUSTERED,
        type nvarchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
        json_in nvarchar(max) NOT NULL,
        body_in varbinary(max) NULL,
        lane nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
        message_id uniqueidentifier NOT NULL,
        requested_by nvarchar(128) NOT NULL,
        app_user nvarchar(128) NULL,
        app_role nvarchar(128) NULL,
        session_id int NOT NULL,
        transaction_id bigint NULL,
        created_at datetime2(7) NOT NULL,
        expires_at datetime2(7) NOT NULL,
        max_attempts int NOT NULL,
        attempt_timeout_ms int NOT NULL,
        on_complete nvarchar(256) NULL,
        redrive_of bigint NULL
    );
GO
