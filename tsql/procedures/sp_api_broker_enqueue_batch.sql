SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_enqueue_batch: stores many requests, all or none.

Purpose
    Internal. Requests without an idempotency key are stored by three statements, however many they are; one with a key
    by sp_api_broker_enqueue. One transaction holds all; it is never the caller's, since a batch leaves a caller's
    transaction through the loopback.
Parameters
    @batch_id                 names the batch; chosen by the sender
    @requests                 a JSON array as sp_api_request_batch makes it: o ordinal, j the handler's JSON, b bytes in
                              base64, t attempt timeout, k idempotency key
    the others                those of the requests
    @count                    output: how many
Return codes
    0 stored
    else as sp_api_broker_enqueue
Errors
    Whatever the inserts can raise.
Locks
    The inserted rows.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_enqueue_batch]
    @batch_id uniqueidentifier,
    @requests nvarchar(max),
    @lane nvarchar(200),
    @requested_by nvarchar(128),
    @app_user nvarchar(128),
    @app_role nvarchar(100),
    @session_id int,
    @transaction_id bigint,
    @expires_ms int,
    @max_attempts int,
    @count bigint OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @ordinal int,
        @json nvarchar(max),
        @body varbinary(max),
        @timeout_ms int,
        @key nvarchar(200),
        @message_id uniqueidentifier,
        @id bigint,
        @code int = 0;
    DECLARE @items TABLE (
        ordinal int NOT NULL PRIMARY KEY,
        message_id uniqueidentifier NOT NULL,
        json_in nvarchar(max) NOT NULL,
        body_in varbinary(max) NULL,
        timeout_ms int NOT NULL,
        [key] nvarchar(200) NULL
    );
    DECLARE @stored TABLE (
        message_id uniqueidentifier NOT NULL PRIMARY KEY,
        request_id bigint NOT NULL
    );

    INSERT INTO @items (
        ordinal,
        message_id,
        json_in,
        body_in,
        timeout_ms,
        [key])
    SELECT
        j.ordinal,
        NEWID(),
        j.json_in,
        j.body_in,
        j.timeout_ms,
        j.[key]
    FROM OPENJSON(@requests)
    WITH (
        ordinal int N'$.o',
        json_in nvarchar(max) N'$.j' AS JSON,
        body_in varbinary(max) N'$.b',
        timeout_ms int N'$.t',
        [key] nvarchar(200) N'$.k'
    ) AS j;
    SET @count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
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
            attempt_timeout_ms)
        OUTPUT
            inserted.message_id,
            inserted.id
        INTO @stored (
            message_id,
            request_id)
        SELECT
            N'http',
            i.json_in,
            i.body_in,
            @lane,
            i.message_id,
            @requested_by,
            @app_user,
            @app_role,
            @session_id,
            @transaction_id,
            @now,
            DATEADD(millisecond, @expires_ms, @now),
            @max_attempts,
            i.timeout_ms
        FROM @items AS i
        WHERE i.[key] IS NULL
        ORDER BY i.ordinal;
        INSERT INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json,
            created_at,
            available_at)
        SELECT
            s.message_id,
            @lane,
            CONCAT(N'{"id":', s.request_id, N'}'),
            DATEADD(nanosecond, 100 * i.ordinal, @now), -- in their order
            @now
        FROM @stored AS s
        INNER JOIN @items AS i
            ON i.message_id = s.message_id;
        INSERT INTO [dbo].[api_broker_batch] (
            batch_id,
            ordinal,
            request_id,
            created_at)
        SELECT
            @batch_id,
            i.ordinal,
            s.request_id,
            @now
        FROM @items AS i
        INNER JOIN @stored AS s
            ON s.message_id = i.message_id;

        WHILE @code = 0
        BEGIN
            SET @ordinal = (
                SELECT MIN(i.ordinal)
                FROM @items AS i
                WHERE i.[key] IS NOT NULL
                    AND (@ordinal IS NULL OR i.ordinal > @ordinal));
            IF @ordinal IS NULL
                BREAK;
            SELECT
                @json = i.json_in,
                @body = i.body_in,
                @timeout_ms = i.timeout_ms,
                @key = i.[key],
                @message_id = i.message_id
            FROM @items AS i
            WHERE i.ordinal = @ordinal;
            EXEC @code = [dbo].[sp_api_broker_enqueue]
                @verb = N'request',
                @type = N'http',
                @json = @json,
                @body = @body,
                @lane = @lane,
                @requested_by = @requested_by,
                @app_user = @app_user,
                @app_role = @app_role,
                @session_id = @session_id,
                @transaction_id = @transaction_id,
                @expires_ms = @expires_ms,
                @max_attempts = @max_attempts,
                @attempt_timeout_ms = @timeout_ms,
                @idempotency_key = @key,
                @message_id = @message_id,
                @id = @id OUTPUT;
            IF @code = 0
                INSERT INTO [dbo].[api_broker_batch] (
                    batch_id,
                    ordinal,
                    request_id,
                    created_at)
                VALUES (
                    @batch_id,
                    @ordinal,
                    @id,
                    @now);
        END;
        IF @code = 0
            COMMIT TRANSACTION;
        ELSE
            ROLLBACK TRANSACTION;
        RETURN @code;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
END;
GO
