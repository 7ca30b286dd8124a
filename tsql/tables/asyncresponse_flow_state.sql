SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Table asyncresponse_flow_state: one ledger per durable flow.

Purpose
    The state of a flow as JSON with its revision, and the lease of the process that drives it. Shared with .NET
    programs; the shape is theirs. revision has a default without a name, as theirs has.
Locks
    One row per flow, changed by conditional updates on revision.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_flow_state]', N'U') IS NULL
BEGIN
    CREATE TABLE [dbo].[asyncresponse_flow_state] (
        flow_id nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL
            CONSTRAINT asyncresponse_flow_state_pk PRIMARY KEY CLUSTERED,
        state_json nvarchar(max) NOT NULL,
        expires_at_utc datetime2(7) NOT NULL,
        updated_at_utc datetime2(7) NOT NULL,
        revision bigint NOT NULL DEFAULT (0),
        lease_id nvarchar(64) NULL,
        lease_expires_at_utc datetime2(7) NULL
    );

    CREATE NONCLUSTERED INDEX asyncresponse_flow_state_expires_idx
        ON [dbo].[asyncresponse_flow_state] (expires_at_utc);
END;
GO
