SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_cancel: calls a request off.

Purpose
    Internal, on whichever side of the loopback. A request that waits in its lane loses its queue row and gets its
    reply in one statement; for one that runs, a row is left that the next heartbeat of its worker reads.
Parameters
    @id                       of the request, whose owner the calling verb has checked
    @requested_by             who calls it off
Return codes
    0 it never runs
    1 it runs; its worker will be told
    2 it has its reply already
    7 there is no such request
Errors
    Whatever the statements can raise.
Locks
    The queue row and the inserted reply, or the inserted row of api_broker_cancel.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_cancel]
    @id bigint,
    @requested_by nvarchar(128)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @now datetime2(7) = SYSUTCDATETIME(),
        @own bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
        @message_id uniqueidentifier,
        @on_complete nvarchar(256),
        @code int;

    SELECT
        @message_id = c.message_id,
        @on_complete = c.on_complete
    FROM [dbo].[api_broker_call] AS c
    WHERE c.id = @id;
    IF @message_id IS NULL
        RETURN 7;
    IF EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK)
            WHERE r.request_id = @id)
        RETURN 2;

    IF @own = 1
        BEGIN TRANSACTION;
    DELETE FROM [dbo].[asyncresponse_transport_messages] WITH (ROWLOCK)
    OUTPUT
        @id,
        N'cancelled',
        N'cancelled',
        N'The request was called off before a worker started it.',
        deleted.attempts,
        @now
    INTO [dbo].[api_broker_reply] (
        request_id,
        state,
        error_class,
        error_message,
        attempts,
        completed_at)
    WHERE id = @message_id
        AND queue LIKE N'api.%'
        AND queue <> N'api.deadletter'
        AND (locked_until IS NULL OR locked_until <= @now);
    SET @code = CASE WHEN @@ROWCOUNT = 1 THEN 0 ELSE 1 END;

    IF @code = 0 AND @on_complete IS NOT NULL
        INSERT INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json,
            created_at,
            available_at)
        VALUES (
            NEWID(),
            N'api.completion',
            CONCAT(N'{"id":', @id, N'}'),
            @now,
            @now);
    IF @code = 1
        INSERT INTO [dbo].[api_broker_cancel] (
            request_id,
            requested_by,
            requested_at)
        SELECT
            @id,
            @requested_by,
            @now
        WHERE EXISTS (
                SELECT 1
                FROM [dbo].[asyncresponse_transport_messages] AS m
                WHERE m.id = @message_id
                    AND m.queue <> N'api.deadletter')
            AND NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_cancel] AS k
                WHERE k.request_id = @id);
    IF @own = 1
        COMMIT TRANSACTION;

    IF @code = 1 AND EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK)
            WHERE r.request_id = @id)
        RETURN 2;
    RETURN @code;
END;
GO
