SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_release: hands a claimed request back.

Purpose
    Ends the lease; the row is due again after the delay. @refund = 1 gives the attempt back that the claim counted,
    for a request that was never started: its type is not served here, its host is blocked, or the process stops.
    A request that was called off meanwhile gets its reply instead, and does not run again.
Parameters
    @message_id, @lock_id     the lease
    @delay_ms                 how long nobody may claim it
    @refund                   1 gives the attempt back
Return codes
    0 released, or settled as cancelled
    1 the lease is lost
Errors
    54061 an argument out of range
Locks
    The queue row; of a request that was called off also its reply.
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
    DECLARE
        @released int,
        @request_id bigint,
        @attempts int;

    IF @delay_ms IS NULL OR @delay_ms < 0
        THROW 54061, N'A release needs @delay_ms of at least 0.', 1;

    IF EXISTS (SELECT 1 FROM [dbo].[api_broker_cancel] WITH (READCOMMITTEDLOCK, READPAST))
    BEGIN
        SELECT
            @request_id = k.request_id,
            @attempts = q.attempts
        FROM (
            SELECT
                m.attempts,
                TRY_CONVERT(bigint, JSON_VALUE(CASE WHEN ISJSON(m.payload_json) = 1 THEN m.payload_json END, N'$.id')) AS request_id
            FROM [dbo].[asyncresponse_transport_messages] AS m
            WHERE m.id = @message_id
                AND m.lock_id = @lock_id
                AND m.queue <> N'api.completion'
        ) AS q
        INNER JOIN [dbo].[api_broker_cancel] AS k WITH (READCOMMITTEDLOCK, READPAST)
            ON k.request_id = q.request_id;
        IF @request_id IS NOT NULL
        BEGIN
            EXEC @released = [dbo].[sp_api_broker_complete]
                @message_id = @message_id,
                @lock_id = @lock_id,
                @request_id = @request_id,
                @state = N'cancelled',
                @error_class = N'cancelled',
                @error_message = N'The request was called off.',
                @attempts = @attempts;
            RETURN CASE WHEN @released = 1 THEN 1 ELSE 0 END;
        END;
    END;

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
