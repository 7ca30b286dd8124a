SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_end_overdue: settles one request that no worker will.

Purpose
    Internal, for the janitor. One request, one transaction: the queue row goes, or is buried, and the reply and the
    row of its completion procedure are stored with it. A row that somebody has claimed since is left alone.
Parameters
    @message_id, @attempts    the queue row as it was found
    @request_id               of the request
    @state                    expired, cancelled or failed; failed buries the row
    @now                      the time at which it was found
Return codes
    0 settled
    1 it is no longer as it was found
Errors
    Whatever the statements can raise.
Locks
    The queue row, the inserted reply, the row of api_broker_cancel.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_end_overdue]
    @message_id uniqueidentifier,
    @attempts int,
    @request_id bigint,
    @state nvarchar(16),
    @now datetime2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE
        @settled int,
        @reason nvarchar(200) = CASE @state
            WHEN N'expired' THEN N'The time to start the request had passed before a worker could.'
            WHEN N'cancelled' THEN N'The request was called off.'
            ELSE N'The last allowed attempt ended with its worker.'
        END;

    BEGIN TRANSACTION;
    IF @state = N'failed'
        UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
        SET queue = N'api.deadletter',
            available_at = @now,
            locked_until = NULL,
            lock_id = NULL,
            dead_letter_reason = @reason
        WHERE id = @message_id
            AND attempts = @attempts
            AND (locked_until IS NULL OR locked_until <= @now);
    ELSE
        DELETE FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK, READPAST)
        WHERE id = @message_id
            AND attempts = @attempts
            AND (locked_until IS NULL OR locked_until <= @now);
    SET @settled = @@ROWCOUNT;
    IF @settled > 0
    BEGIN
        INSERT INTO [dbo].[api_broker_reply] (
            request_id,
            state,
            error_class,
            error_message,
            attempts,
            worker,
            completed_at)
        SELECT
            @request_id,
            @state,
            CASE WHEN @state = N'failed' THEN N'attempts_exhausted' ELSE @state END,
            @reason,
            @attempts,
            N'janitor',
            @now
        WHERE NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_reply] AS r
            WHERE r.request_id = @request_id);
        IF @@ROWCOUNT > 0
            INSERT INTO [dbo].[asyncresponse_transport_messages] (
                id,
                queue,
                payload_json)
            SELECT
                NEWID(),
                N'api.completion',
                CONCAT(N'{"id":', c.id, N'}')
            FROM [dbo].[api_broker_call] AS c
            WHERE c.id = @request_id
                AND c.on_complete IS NOT NULL;
        DELETE FROM [dbo].[api_broker_cancel]
        WHERE request_id = @request_id;
    END;
    COMMIT TRANSACTION;
    RETURN CASE WHEN @settled = 0 THEN 1 ELSE 0 END;
END;
GO
