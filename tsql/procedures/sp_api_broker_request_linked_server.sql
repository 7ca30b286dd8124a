SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_request_linked_server: what runs on the second connection.

Purpose
    A shell around sp_api_broker_enqueue. It sets a short LOCK_TIMEOUT and opens a TRY before that procedure is even
    compiled: where somebody holds Sch-M on a table, compilation waits, and no SET inside would have run yet. Statement
    errors of a remote procedure do not reach the caller's CATCH, so the outcome travels as an int, and NULL means
    that this procedure did not run.
    Max types may travel in; only ints travel out (error 7396).
    The linked login may run this one procedure, and so may call it with forged arguments; @tag is what it cannot make.
Parameters
    @verb                     request, batch, cancel or probe
    the others                those of the request, checked by the caller's verb
    @tag                      HASHBYTES over the secret and every argument
    @idout                    output: of the request; of a batch how many it has; of a cancellation the code of
                              sp_api_cancel; of a probe the session's id, and nothing is stored
    @rc                       output: 0 stored; else the number of the error
Return codes
    0
Errors
    None: every error is caught and travels in @rc.
Locks
    Two inserted rows, three with an idempotency key, in a transaction of its own that commits before it returns.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_request_linked_server]
    @verb nvarchar(20),
    @type nvarchar(50),
    @json nvarchar(max),
    @body varbinary(max) = NULL,
    @lane nvarchar(200),
    @requested_by nvarchar(128),
    @app_user nvarchar(128) = NULL,
    @app_role nvarchar(100) = NULL,
    @session_id int,
    @transaction_id bigint = NULL,
    @due_ms int = NULL,
    @expires_ms int,
    @max_attempts int,
    @attempt_timeout_ms int,
    @idempotency_key nvarchar(200) = NULL,
    @on_complete nvarchar(128) = NULL,
    @redrive_of bigint = NULL,
    @message_id uniqueidentifier,
    @tag varbinary(32),
    @idout bigint = NULL OUTPUT,
    @rc int = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET LOCK_TIMEOUT 1000;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT
        @idout = NULL,
        @rc = NULL;

    BEGIN TRY
        EXEC @rc = [dbo].[sp_api_broker_enqueue]
            @verb = @verb,
            @type = @type,
            @json = @json,
            @body = @body,
            @lane = @lane,
            @requested_by = @requested_by,
            @app_user = @app_user,
            @app_role = @app_role,
            @session_id = @session_id,
            @transaction_id = @transaction_id,
            @due_ms = @due_ms,
            @expires_ms = @expires_ms,
            @max_attempts = @max_attempts,
            @attempt_timeout_ms = @attempt_timeout_ms,
            @idempotency_key = @idempotency_key,
            @on_complete = @on_complete,
            @redrive_of = @redrive_of,
            @message_id = @message_id,
            @id = @idout OUTPUT,
            @remote = 1,
            @tag = @tag;
    END TRY
    BEGIN CATCH
        SET @rc = ERROR_NUMBER();
        SET @idout = NULL;
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
    END CATCH;
    RETURN 0;
END;
GO
