SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_dead_letter: buries a request that was given up.

Purpose
    Moves the queue row to api.deadletter with its reason, for an admin to see, and stores the reply failed, both in
    one statement; the completion procedure of the request is due in the same transaction. A message that is no request
    of ours has no reply.
Parameters
    @message_id, @lock_id     the lease
    @request_id               of the request; NULL buries the row only
    @reason                   why, for dead_letter_reason and, without @error_message, for the reply
    the others                the reply's columns
Return codes
    0 buried
    1 the lease is lost, nothing was changed
    2 answered before: buried, this reply was dropped
Errors
    None of its own.
Locks
    The queue row and the inserted reply.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_dead_letter]
    @message_id uniqueidentifier,
    @lock_id uniqueidentifier,
    @request_id bigint,
    @reason nvarchar(2048),
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
        @buried int,
        @answered bit = 0,
        @completion bit = 0;

    IF EXISTS (SELECT 1 FROM [dbo].[api_broker_completion] AS k)
        AND EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_call] AS c
            WHERE c.id = @request_id
                AND c.on_complete IS NOT NULL)
        SET @completion = 1;

    IF @request_id IS NOT NULL
    BEGIN
        BEGIN TRY
            IF @completion = 1
                BEGIN TRANSACTION;
            UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
            SET queue = N'api.deadletter',
                available_at = SYSUTCDATETIME(),
                locked_until = NULL,
                lock_id = NULL,
                dead_letter_reason = @reason
            OUTPUT
                @request_id,
                N'failed',
                @http_status,
                @error_class,
                COALESCE(@error_message, @reason),
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
            SET @buried = @@ROWCOUNT;
            IF @completion = 1
            BEGIN
                IF @buried > 0
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
            RETURN CASE WHEN @buried = 0 THEN 1 ELSE 0 END;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 2627
                THROW;
            SET @answered = 1;
        END CATCH;
    END;

    UPDATE [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
    SET queue = N'api.deadletter',
        available_at = SYSUTCDATETIME(),
        locked_until = NULL,
        lock_id = NULL,
        dead_letter_reason = @reason
    WHERE id = @message_id
        AND lock_id = @lock_id;
    SET @buried = @@ROWCOUNT;
    RETURN CASE
        WHEN @buried = 0 THEN 1
        WHEN @answered = 1 THEN 2
        ELSE 0
    END;
END;
GO
