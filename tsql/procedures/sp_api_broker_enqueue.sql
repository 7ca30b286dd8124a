SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_enqueue: stores a request and its queue row.

Purpose
    Internal. One statement inserts both rows, so there is never one without the other, and no transaction has to be
    opened for it. With an idempotency key the key's row is a third, and one transaction holds all.
Parameters
    @verb                     request; or batch (@json has the requests, @message_id the batch's id), cancel (@redrive_of
                              is the request) or probe
    the others                those of the request
    @id                       output: of the request, or of the first one with the same key
    @remote                   1 when called through the link: the tag must fit
    @tag                      HASHBYTES over the secret and every argument
Return codes
    0 stored, or stored before under the same key
    54035 the key stands for another request
    54062 the tag does not fit
    2627 the key was taken and given up again at this moment; call again
Errors
    Whatever the inserts can raise.
Locks
    The inserted rows. No key-range locks: in a caller's long transaction those would block every other sender.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_enqueue]
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
    @id bigint = NULL OUTPUT,
    @remote bit = 0,
    @tag varbinary(32) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @own bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @secret varbinary(32),
        @returned int,
        @hash varbinary(32),
        @first_hash varbinary(32);
    SET @id = NULL;

    IF @remote = 1
    BEGIN
        SELECT @secret = s.secret
        FROM [dbo].[api_broker_secret] AS s
        WHERE s.id = 1;
        IF @tag IS NULL OR @secret IS NULL OR @tag <> HASHBYTES(
            N'SHA2_256',
            @secret + CONVERT(varbinary(max), CONCAT(
                @verb, N'|', @type, N'|', @lane, N'|', @message_id, N'|', @due_ms, N'|', @expires_ms, N'|', @max_attempts, N'|',
                @attempt_timeout_ms, N'|', @session_id, N'|', @transaction_id, N'|', @redrive_of, N'|',
                DATALENGTH(@requested_by), N'|', DATALENGTH(@app_user), N'|', DATALENGTH(@app_role), N'|',
                DATALENGTH(@idempotency_key), N'|', DATALENGTH(@on_complete), N'|', DATALENGTH(@json), N'|', DATALENGTH(@body), N'|',
                @requested_by, @app_user, @app_role, @idempotency_key, @on_complete, @json)) + COALESCE(@body, 0x))
            RETURN 54062;
        IF @verb = N'probe'
        BEGIN
            SET @id = @@SPID;
            RETURN 0;
        END;
    END;
    IF @verb = N'batch'
    BEGIN
        EXEC @returned = [dbo].[sp_api_broker_enqueue_batch]
            @batch_id = @message_id,
            @requests = @json,
            @lane = @lane,
            @requested_by = @requested_by,
            @app_user = @app_user,
            @app_role = @app_role,
            @session_id = @session_id,
            @transaction_id = @transaction_id,
            @expires_ms = @expires_ms,
            @max_attempts = @max_attempts,
            @count = @id OUTPUT;
        RETURN @returned;
    END;
    IF @verb = N'cancel'
    BEGIN
        EXEC @returned = [dbo].[sp_api_broker_cancel]
            @id = @redrive_of,
            @requested_by = @requested_by;
        SET @id = @returned;
        RETURN 0;
    END;

    IF @idempotency_key IS NULL
    BEGIN
        INSERT INTO [dbo].[api_broker_call] (
            type,
            json_in,
            body_in,
            lane,
            message_id,
            requested_by,
            app_user,
            app_role,
            session_id,
            transaction_id,
            created_at,
            expires_at,
            max_attempts,
            attempt_timeout_ms,
            on_complete,
            redrive_of)
        OUTPUT
            inserted.message_id,
            inserted.lane,
            CONCAT(N'{"id":', inserted.id, N'}'),
            inserted.created_at,
            DATEADD(millisecond, COALESCE(@due_ms, 0), inserted.created_at)
        INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json,
            created_at,
            available_at)
        VALUES (
            @type,
            @json,
            @body,
            @lane,
            @message_id,
            @requested_by,
            @app_user,
            @app_role,
            @session_id,
            @transaction_id,
            @now,
            DATEADD(millisecond, @expires_ms, @now),
            @max_attempts,
            @attempt_timeout_ms,
            @on_complete,
            @redrive_of);
        SET @id = SCOPE_IDENTITY();
        RETURN 0;
    END;

    SET @hash = HASHBYTES(
        N'SHA2_256',
        CONVERT(varbinary(max), CONCAT(@type, N'|', DATALENGTH(@json), N'|', @json)) + COALESCE(@body, 0x));
    SELECT
        @id = i.request_id,
        @first_hash = i.request_hash
    FROM [dbo].[api_broker_idempotency] AS i
    WHERE i.owner = @requested_by
        AND i.owner + N'.' = @requested_by + N'.' -- "=" pads with blanks
        AND i.app_role = COALESCE(@app_role, N'')
        AND i.[key] = @idempotency_key
        AND i.expires_at > @now;
    IF @first_hash IS NOT NULL
        RETURN CASE WHEN @first_hash = @hash THEN 0 ELSE 54035 END;

    BEGIN TRY
        IF @own = 1
            BEGIN TRANSACTION;
        DELETE FROM [dbo].[api_broker_idempotency]
        WHERE owner = @requested_by
            AND owner + N'.' = @requested_by + N'.'
            AND app_role = COALESCE(@app_role, N'')
            AND [key] = @idempotency_key
            AND expires_at <= @now;
        INSERT INTO [dbo].[api_broker_call] (
            type,
            json_in,
            body_in,
            lane,
            message_id,
            requested_by,
            app_user,
            app_role,
            session_id,
            transaction_id,
            created_at,
            expires_at,
            max_attempts,
            attempt_timeout_ms,
            on_complete,
            redrive_of)
        OUTPUT
            inserted.message_id,
            inserted.lane,
            CONCAT(N'{"id":', inserted.id, N'}'),
            inserted.created_at,
            DATEADD(millisecond, COALESCE(@due_ms, 0), inserted.created_at)
        INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json,
            created_at,
            available_at)
        VALUES (
            @type,
            @json,
            @body,
            @lane,
            @message_id,
            @requested_by,
            @app_user,
            @app_role,
            @session_id,
            @transaction_id,
            @now,
            DATEADD(millisecond, @expires_ms, @now),
            @max_attempts,
            @attempt_timeout_ms,
            @on_complete,
            @redrive_of);
        SET @id = SCOPE_IDENTITY();
        INSERT INTO [dbo].[api_broker_idempotency] (
            owner,
            app_role,
            [key],
            request_hash,
            request_id,
            expires_at)
        SELECT
            @requested_by,
            COALESCE(@app_role, N''),
            @idempotency_key,
            @hash,
            @id,
            DATEADD(hour, s.idempotency_hours, @now)
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;
        IF @own = 1
            COMMIT TRANSACTION;
        RETURN 0;
    END TRY
    BEGIN CATCH
        IF @own = 1 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() <> 2627 OR XACT_STATE() = -1
            THROW;
    END CATCH;

    -- Somebody else was first with this key. What this call stored in a caller's transaction is taken back by hand.
    IF @own = 0 AND @id IS NOT NULL
    BEGIN
        DELETE FROM [dbo].[asyncresponse_transport_messages]
        WHERE id = @message_id;
        DELETE FROM [dbo].[api_broker_call]
        WHERE id = @id;
    END;
    SELECT
        @id = NULL,
        @first_hash = NULL;
    SELECT
        @id = i.request_id,
        @first_hash = i.request_hash
    FROM [dbo].[api_broker_idempotency] AS i
    WHERE i.owner = @requested_by
        AND i.owner + N'.' = @requested_by + N'.'
        AND i.app_role = COALESCE(@app_role, N'')
        AND i.[key] = @idempotency_key
        AND i.expires_at > @now;
    RETURN CASE
        WHEN @first_hash IS NULL THEN 2627
        WHEN @first_hash = @hash THEN 0
        ELSE 54035
    END;
END;
GO
