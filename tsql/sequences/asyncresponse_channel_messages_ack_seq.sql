SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Sequence asyncresponse_channel_messages_ack_seq: orders acknowledgements and registrations.

Purpose
    acked_seq of a response and the registration of a waiter draw from the same numbers, so "acknowledged before I
    registered" is decided even when both fall on the same tick of the clock.
Locks
    None.
*/
IF OBJECT_ID(N'[dbo].[asyncresponse_channel_messages_ack_seq]', N'SO') IS NULL
    CREATE SEQUENCE [dbo].[asyncresponse_channel_messages_ack_seq]
        AS bigint
        START WITH 1
        INCREMENT BY 1;
GO
