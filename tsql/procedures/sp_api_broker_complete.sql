SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_complete: stores one reply and removes its queue row.

Purpose
    One statement deletes the queue row and inserts the reply, so no crash can come between. It is fenced: a row whose
    lock_id has changed is not deleted, and nothing is stored. The first reply stands: where there is one already, only
    the queue row goes. A request with a completion procedure gets the row for it in the same transaction, and one that
    was called off loses the word about it. For replies with bytes or large text; small ones go through sp_api_broker_complete_batch.
Parameters
    @message_id, @lock_id     the lease
    @request_id               of the request
    @state                    completed, failed, expired or cancelled
    the others                the reply's columns; @attempts is the queue row's where it is not given
Return codes
    0 stored
    1 the lease is lost, nothing was stored
    2 answered before, this reply was dropped
Errors
    54064 an unknown state
Locks
    The queue row and the inserted reply.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_complete]
    @message_id uniqueidentifier,
    @lock_id uniqueidentifier,
    @request_id bigint,
    @state nvarchar(16),
    @http_status int = NULL,
    @error_class nvarchar(64) = NULL,
    @error_message nvarchar(2048) = NULL,
    @ms_error int = NULL,
    @json_out nvarchar(max) = NULL,
    @body_out varbinary(max) = NULL,
    @content_type nvarchar(400) = NULL,
    @attempts int = NULL,
    @worker nvarchar(200) = NULL,
    @queue_ms int = NULL,
    @dns_ms int = NULL,
    @connect_ms int = NULL,
    @tls_ms int = NULL,
    @first_byte_ms int = NULL,
    @total_ms int = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE
        @deleted int,
        @answered bit = 0,
        @completion bit = 0;

    IF @request_id IS NULL OR @state IS NULL OR @state NOT IN (N'completed', N'failed', N'expired', N'cancelled')
        THROW 54064, N'A reply needs a @request_id and a @state of completed, failed, expired or cancelled.', 1;

    -- Where no completion procedure is registered there is none to run, and nothing more is looked at.
    IF EXISTS (SELECT 1 FROM [dbo].[api_broker_completion] AS k)
        AND EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_call] AS c
            WHERE c.id = @request_id
                AND c.on_complete IS NOT NULL)
        SET @completion = 1;

    BEGIN TRY
        IF @completion = 1
            BEGIN TRANSACTION;
        DELETE FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
        OUTPUT
            @request_id,
            @state,
            @http_status,
            @error_class,
            @error_message,
            @ms_error,
            @json_out,
            @body_out,
            @content_type,
            COALESCE(@attempts, deleted.attempts),
            @worker,
            @queue_ms,
            @dns_ms,
            @connect_ms,
            @tls_ms,
            @first_byte_ms,
            @total_ms,
            SYSUTCDATETIME()
        INTO [dbo].[api_broker_reply] (
            request_id,
            state,
            http_status,
            error_class,
            error_message,
            ms_error,
            json_out,
            body_out,
            content_type,
            attempts,
            worker,
            queue_ms,
            dns_ms,
            connect_ms,
            tls_ms,
            first_byte_ms,
            total_ms,
            completed_at)
        WHERE id = @message_id
            AND lock_id = @lock_id;
        SET @deleted = @@ROWCOUNT;
        IF @completion = 1
        BEGIN
            IF @deleted > 0
                INSERT INTO [dbo].[asyncresponse_transport_messages] (
                    id,
                    queue,
                    payload_json)
                VALUES (
                    NEWID(),
                    N'api.completion',
                    CONCAT(N'{"id":', @request_id, N'}'));
            COMMIT TRANSACTION;
        END;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() <> 2627
            THROW;
        SET @answered = 1;
    END CATCH;

    IF @answered = 1
    BEGIN
        DELETE FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
        WHERE id = @message_id
            AND lock_id = @lock_id;
        SET @deleted = @@ROWCOUNT;
    END;
    IF @deleted > 0 AND @state = N'cancelled'
        DELETE FROM [dbo].[api_broker_cancel]
        WHERE request_id = @request_id;
    RETURN CASE
        WHEN @deleted = 0 THEN 1
        WHEN @answered = 1 THEN 2
        ELSE 0
    END;
END;
GO
