SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_discard: removes old requests from one stretch of ids.

Purpose
    Internal, for the janitor and for sp_api_purge. Looks at no more than @batch requests from @from on, oldest first,
    and removes those that were answered before @before; where no state is asked for also those that are as old, were
    never answered and are no longer queued.
Parameters
    @from                     input: ids greater than this are looked at; output: the last id that was, NULL at the end
    @before                   what was answered earlier goes
    @state                    only requests of this state; NULL for all
    @batch                    the most requests to look at
    @deleted                  output: how many requests were removed
Return codes
    0
Errors
    Whatever the statements can raise.
Locks
    The rows it removes, by their keys and in their order, in one transaction of its own; it skips locked requests.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_discard]
    @from bigint OUTPUT,
    @before datetime2(7),
    @state nvarchar(16) = NULL,
    @batch int,
    @deleted int OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE
        @last bigint,
        @seen int,
        @next datetime2(7);
    DECLARE @window TABLE (
        request_id bigint NOT NULL PRIMARY KEY,
        message_id uniqueidentifier NOT NULL,
        created_at datetime2(7) NOT NULL,
        expires_at datetime2(7) NOT NULL
    );
    DECLARE @old TABLE (request_id bigint NOT NULL PRIMARY KEY);
    SET @deleted = 0;

    INSERT INTO @window (
        request_id,
        message_id,
        created_at,
        expires_at)
    SELECT TOP (@batch)
        c.id,
        c.message_id,
        c.created_at,
        c.expires_at
    FROM [dbo].[api_broker_call] AS c WITH (READCOMMITTEDLOCK, READPAST)
    WHERE c.id > @from
    ORDER BY c.id;
    SELECT
        @last = MAX(w.request_id),
        @seen = COUNT(1),
        @next = MIN(w.created_at)
    FROM @window AS w;

    INSERT INTO @old (request_id)
    SELECT w.request_id
    FROM @window AS w
    LEFT JOIN [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK, READPAST)
        ON r.request_id = w.request_id
    WHERE w.created_at < @before
        AND ((r.completed_at < @before AND (@state IS NULL OR r.state = @state))
            OR (@state IS NULL
                AND r.request_id IS NULL
                AND w.expires_at < @before
                AND NOT EXISTS (
                    SELECT 1
                    FROM [dbo].[asyncresponse_transport_messages] AS m
                    WHERE m.id = w.message_id)));
    IF EXISTS (SELECT 1 FROM @old)
    BEGIN
        BEGIN TRANSACTION;
        DELETE r
        FROM @old AS o
        INNER JOIN [dbo].[api_broker_reply] AS r WITH (ROWLOCK)
            ON r.request_id = o.request_id
        OPTION (LOOP JOIN, FORCE ORDER);
        DELETE k
        FROM @old AS o
        INNER JOIN [dbo].[api_broker_cancel] AS k WITH (ROWLOCK)
            ON k.request_id = o.request_id
        OPTION (LOOP JOIN, FORCE ORDER);
        DELETE c
        FROM @old AS o
        INNER JOIN [dbo].[api_broker_call] AS c WITH (ROWLOCK)
            ON c.id = o.request_id
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @deleted = @@ROWCOUNT;
        COMMIT TRANSACTION;
    END;

    -- Ids grow with time: behind a stretch that is younger there is nothing old.
    SET @from = CASE WHEN @seen = @batch AND @next < @before THEN @last END;
    RETURN 0;
END;
GO
