SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_release: hands a claimed request back.

Purpose
    Ends the lease; the row is due again after the delay. @refund = 1 gives the attempt back that the claim counted,
    for a request that was never started: its type is not served here, its host is blocked, or the process stops.
Parameters
    @message_id, @lock_id     the lease
    @delay_ms                 how long nobody may claim it
    @refund                   1 gives the attempt back
Return codes
    0 released
    1 the lease is lost
Errors
    54061 an argument out of range
Locks
    The queue row.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_release]
    @message_id uniqueidentifier,
    @lock_id uniqueidentifier,
    @delay_ms int,
    @refund bit = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @released int;

    IF @delay_ms IS NULL OR @delay_ms < 0
        THROW 54061, N'A release needs @delay_ms of at least 0.', 1;

    UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
    SET available_at = DATEADD(millisecond, @delay_ms, SYSUTCDATETIME()),
        locked_until = NULL,
        lock_id = NULL,
        attempts = attempts - CASE WHEN @refund = 1 AND attempts > 0 THEN 1 ELSE 0 END
    WHERE id = @message_id
        AND lock_id = @lock_id;
    SET @released = @@ROWCOUNT;
    RETURN CASE WHEN @released = 0 THEN 1 ELSE 0 END;
END;
GO
