SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table asyncresponse_recovery_state: what to do with an answer whose waiter is gone.

Purpose
    One row per waiter, keyed by correlation id and registration, written before the waiter's trigger runs. Shared
    with .NET programs; the shape is theirs.
Locks
    One row per waiter.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_recovery_state]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[asyncresponse_recovery_state] (
        correlation_id nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        registration_id uniqueidentifier NOT NULL,
        state_json nvarchar(max) NOT NULL,
        expires_at datetime2(7) NOT NULL,
        registered_at datetime2(7) NOT NULL
            CONSTRAINT asyncresponse_recovery_state_registered_df DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT asyncresponse_recovery_state_pk PRIMARY KEY CLUSTERED (correlation_id, registration_id)
    );

    CREATE NONCLUSTERED INDEX asyncresponse_recovery_state_expires_idx
        ON [dbo].[asyncresponse_recovery_state] (expires_at);
END;
GO
