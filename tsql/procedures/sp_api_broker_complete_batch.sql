SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_complete_batch: stores many small replies and removes their queue rows.

Purpose
    What ended while the previous batch was on its way, in one round trip and one commit. Each reply is fenced by its
    own lock_id, and the first reply of a request stands. Requests with a completion procedure get the row for it in
    the same transaction, and those that were called off lose the word about it.
Parameters
    @replies                  a JSON array of objects with message_id, lock_id and the columns of a reply, without
                              body_out and completed_at
Result set
    message_id, code: the replies that were not stored; 1 the lease is lost, 2 answered before
Return codes
    0
Errors
    54063 not a JSON array of such objects, 54064 an unknown state. Nothing was stored.
Locks
    The queue rows, one by one by their key, and the inserted replies, in one transaction.
    Call it outside a transaction: it commits by itself, and a transaction around it would keep its locks.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_complete_batch]
    @replies nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @batch TABLE (
        message_id uniqueidentifier NULL,
        lock_id uniqueidentifier NULL,
        request_id bigint NULL,
        state nvarchar(16) NULL,
        http_status int NULL,
        error_class nvarchar(64) NULL,
        error_message nvarchar(2048) NULL,
        ms_error int NULL,
        json_out nvarchar(max) NULL,
        content_type nvarchar(400) NULL,
        attempts int NULL,
        worker nvarchar(200) NULL,
        queue_ms int NULL,
        dns_ms int NULL,
        connect_ms int NULL,
        tls_ms int NULL,
        first_byte_ms int NULL,
        total_ms int NULL
    );
    DECLARE @settled TABLE (message_id uniqueidentifier NOT NULL);
    DECLARE @stored TABLE (request_id bigint NOT NULL);

    IF @replies IS NULL OR ISJSON(@replies) = 0
        THROW 54063, N'@replies must be a JSON array of objects with message_id, lock_id, request_id and state.', 1;
    INSERT INTO @batch (
        message_id,
        lock_id,
        request_id,
        state,
        http_status,
        error_class,
        error_message,
        ms_error,
        json_out,
        content_type,
        attempts,
        worker,
        queue_ms,
        dns_ms,
        connect_ms,
        tls_ms,
        first_byte_ms,
        total_ms)
    SELECT
        TRY_CONVERT(uniqueidentifier, j.message_id),
        TRY_CONVERT(uniqueidentifier, j.lock_id),
        j.request_id,
        j.state,
        j.http_status,
        j.error_class,
        j.error_message,
        j.ms_error,
        j.json_out,
        j.content_type,
        j.attempts,
        j.worker,
        j.queue_ms,
        j.dns_ms,
        j.connect_ms,
        j.tls_ms,
        j.first_byte_ms,
        j.total_ms
    FROM OPENJSON(@replies)
    WITH (
        message_id nvarchar(100) N'$.message_id',
        lock_id nvarchar(100) N'$.lock_id',
        request_id bigint N'$.request_id',
        state nvarchar(16) N'$.state',
        http_status int N'$.http_status',
        error_class nvarchar(64) N'$.error_class',
        error_message nvarchar(2048) N'$.error_message',
        ms_error int N'$.ms_error',
        json_out nvarchar(max) N'$.json_out',
        content_type nvarchar(400) N'$.content_type',
        attempts int N'$.attempts',
        worker nvarchar(200) N'$.worker',
        queue_ms int N'$.queue_ms',
        dns_ms int N'$.dns_ms',
        connect_ms int N'$.connect_ms',
        tls_ms int N'$.tls_ms',
        first_byte_ms int N'$.first_byte_ms',
        total_ms int N'$.total_ms'
    ) AS j;
    IF EXISTS (
            SELECT 1
            FROM @batch AS b
            WHERE b.message_id IS NULL
                OR b.lock_id IS NULL
                OR b.request_id IS NULL)
        THROW 54063, N'@replies must be a JSON array of objects with message_id, lock_id, request_id and state.', 1;
    IF EXISTS (
            SELECT 1
            FROM @batch AS b
            WHERE b.state IS NULL
                OR b.state NOT IN (N'completed', N'failed', N'expired', N'cancelled'))
        THROW 54064, N'A reply needs a @request_id and a @state of completed, failed, expired or cancelled.', 1;

    BEGIN TRANSACTION;
    DELETE m
    OUTPUT deleted.id
    INTO @settled (message_id)
    FROM @batch AS b
    INNER JOIN [dbo].[asyncresponse_transport_messages] AS m WITH (ROWLOCK)
        ON m.id = b.message_id
        AND m.lock_id = b.lock_id
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO [dbo].[api_broker_reply] (
        request_id,
        state,
        http_status,
        error_class,
        error_message,
        ms_error,
        json_out,
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
    OUTPUT inserted.request_id
    INTO @stored (request_id)
    SELECT
        b.request_id,
        b.state,
        b.http_status,
        b.error_class,
        b.error_message,
        b.ms_error,
        b.json_out,
        b.content_type,
        COALESCE(b.attempts, 1),
        b.worker,
        b.queue_ms,
        b.dns_ms,
        b.connect_ms,
        b.tls_ms,
        b.first_byte_ms,
        b.total_ms,
        SYSUTCDATETIME()
    FROM @batch AS b
    WHERE EXISTS (
            SELECT 1
            FROM @settled AS s
            WHERE s.message_id = b.message_id)
        AND NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_reply] AS r
            WHERE r.request_id = b.request_id);

    -- Where no completion procedure is registered there is none to run, and nothing more is looked at.
    IF EXISTS (SELECT 1 FROM [dbo].[api_broker_completion] AS k)
        INSERT INTO [dbo].[asyncresponse_transport_messages] (
            id,
            queue,
            payload_json)
        SELECT
            NEWID(),
            N'api.completion',
            CONCAT(N'{"id":', c.id, N'}')
        FROM @stored AS s
        INNER JOIN [dbo].[api_broker_call] AS c
            ON c.id = s.request_id
        WHERE c.on_complete IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @batch AS b WHERE b.state = N'cancelled')
        DELETE k
        FROM @batch AS b
        INNER JOIN [dbo].[api_broker_cancel] AS k
            ON k.request_id = b.request_id
        WHERE b.state = N'cancelled'
            AND EXISTS (SELECT 1 FROM @settled AS s WHERE s.message_id = b.message_id);
    COMMIT TRANSACTION;

    SELECT
        b.message_id,
        CASE
            WHEN EXISTS (SELECT 1 FROM @settled AS s WHERE s.message_id = b.message_id) THEN 2
            ELSE 1
        END AS code
    FROM @batch AS b
    WHERE NOT EXISTS (SELECT 1 FROM @settled AS s WHERE s.message_id = b.message_id)
        OR NOT EXISTS (SELECT 1 FROM @stored AS d WHERE d.request_id = b.request_id);
    RETURN 0;
END;
GO
