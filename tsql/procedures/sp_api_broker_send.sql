SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_send: gets a checked request out of the door.

Purpose
    Internal. Inside a transaction the request leaves through the loopback linked server, a session of its own that
    commits at once; otherwise, and with @on_commit = 1, it is stored right here. A batch of requests and a cancellation
    go the same way.
Parameters
    those of the request, checked by the calling verb
    @verb                     request, batch or cancel
    @app_role                 as sp_api_broker_identity has it
    @redrive_of               the request that this one repeats, or that is called off
    @message_id               of the queue row, or the id of the batch; made here when it is not given
    @link                     the linked server; NULL where there is none
    @secret                   for the tag; needed inside a transaction
    @id                       output: of the request; of a batch how many it has; of a cancellation the code of
                              sp_api_cancel
    @error                    output: why it was not sent
Return codes
    0 sent
    5 not sent, nothing was stored
    6 unknown: the link broke after the request may have been stored
Errors
    54002, 54003, 54004, 54035, 54062, and whatever a local insert can raise
Locks
    Through the link none of the caller's; locally the rows it inserts, until the caller's transaction ends.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_send]
    @type nvarchar(50),
    @json nvarchar(max),
    @body varbinary(max),
    @lane nvarchar(200),
    @due_ms int,
    @expires_ms int,
    @max_attempts int,
    @attempt_timeout_ms int,
    @idempotency_key nvarchar(200),
    @app_role nvarchar(100),
    @on_complete nvarchar(128),
    @on_commit bit,
    @link nvarchar(128),
    @secret varbinary(32),
    @id bigint OUTPUT,
    @error nvarchar(2048) OUTPUT,
    @verb nvarchar(20) = N'request',
    @message_id uniqueidentifier = NULL,
    @redrive_of bigint = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @rc int,
        @returned int,
        @tag varbinary(32),
        @number int,
        @four_part nvarchar(800),
        @requested_by nvarchar(128) = ORIGINAL_LOGIN(),
        @app_user nvarchar(128) = CONVERT(nvarchar(128), SESSION_CONTEXT(N'app_user')),
        @session_id int = @@SPID,
        @transaction_id bigint;

    SET @message_id = COALESCE(@message_id, NEWID());

    IF @@TRANCOUNT = 0 OR @on_commit = 1
    BEGIN
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
            @id = @id OUTPUT;
    END
    ELSE
    BEGIN
        IF @link IS NULL OR SERVERPROPERTY(N'EngineEdition') = 5
            THROW 54004, N'There is no loopback linked server here, so a request cannot leave an open transaction. Call outside the transaction, or with @on_commit = 1 and @wait = 0.', 1;
        IF SUSER_SNAME() <> @requested_by
        BEGIN
            IF EXISTS (SELECT 1 FROM sys.login_token AS t WHERE t.usage = N'DENY ONLY')
                THROW 54002, N'The call runs under database-scoped impersonation (EXECUTE AS USER or WITH EXECUTE AS), which cannot use the loopback linked server. REVERT first, or call without impersonation.', 1;
        END;

        SET @transaction_id = CURRENT_TRANSACTION_ID();
        SET @tag = HASHBYTES(
            N'SHA2_256',
            @secret + CONVERT(varbinary(max), CONCAT(
                @verb, N'|', @type, N'|', @lane, N'|', @message_id, N'|', @due_ms, N'|', @expires_ms, N'|', @max_attempts, N'|',
                @attempt_timeout_ms, N'|', @session_id, N'|', @transaction_id, N'|', @redrive_of, N'|',
                DATALENGTH(@requested_by), N'|', DATALENGTH(@app_user), N'|', DATALENGTH(@app_role), N'|',
                DATALENGTH(@idempotency_key), N'|', DATALENGTH(@on_complete), N'|', DATALENGTH(@json), N'|', DATALENGTH(@body), N'|',
                @requested_by, @app_user, @app_role, @idempotency_key, @on_complete, @json)) + COALESCE(@body, 0x));
        SET @four_part = CONCAT(QUOTENAME(@link), N'.', QUOTENAME(DB_NAME()), N'.[dbo].[sp_api_broker_request_linked_server]');

        BEGIN TRY
            EXEC @returned = @four_part
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
                @tag = @tag,
                @idout = @id OUTPUT,
                @rc = @rc OUTPUT;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() = -1
                THROW;
            SET @number = ERROR_NUMBER();
            SET @id = NULL;
            IF @number = 15274
                THROW 54002, N'The call runs under database-scoped impersonation (EXECUTE AS USER or WITH EXECUTE AS), which cannot use the loopback linked server. REVERT first, or call without impersonation.', 1;
            IF @number = 7437 OR (@number = 7416 AND SUSER_SNAME() <> @requested_by)
                THROW 54003, N'The call runs under an impersonated login (EXECUTE AS LOGIN) that the loopback linked server has no mapping for. Map it with sp_api_broker_setup, or REVERT first.', 1;
            SET @error = LEFT(CONCAT(N'The loopback linked server failed with error ', @number, N': ', ERROR_MESSAGE(), N' sp_api_broker_setup makes and checks it.'), 2048);
            -- Only errors that come before the request has left prove that nothing was stored: no server, no connection, no
            -- login, or refused on this side.
            RETURN CASE
                WHEN @number IN (2, 53, 7201, 7202, 7203, 7303, 7391, 7395, 7396, 7405, 7410, 7411, 7416, 7420, 18452, 18456) THEN 5
                ELSE 6
            END;
        END CATCH;
    END;

    IF @rc = 0
        RETURN 0;
    SET @id = NULL;
    IF @rc = 54035
        THROW 54035, N'@idempotency_key was used for another request. Use a new key for a new request.', 1;
    IF @rc = 54062
        THROW 54062, N'The loopback call carries no valid tag: the linked server leads to another database or schema, or the secret was changed. Run sp_api_broker_setup.', 1;
    SET @error = CASE
        WHEN @rc IS NULL THEN N'The loopback procedure did not run: the mapped login may not execute it, or it is not there. Run sp_api_broker_setup.'
        WHEN @rc = 1222 THEN N'A lock on a broker table stood in the way for too long; it may be one of your own transaction. Nothing was stored.'
        ELSE CONCAT(N'Storing the request failed with error ', @rc, N'.')
    END;
    RETURN 5;
END;
GO
