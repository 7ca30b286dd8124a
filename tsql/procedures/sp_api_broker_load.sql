SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_load: the content of a claimed request.

Purpose
    For what was too big to come with the claim. Fenced: a lease that is lost loads nothing.
Parameters
    @message_id, @lock_id     the lease
    @request_id               as the claim gave it
Result set
    json_in, body_in; no row when the lease is lost or the call was purged
Return codes
    0
Errors
    None of its own.
Locks
    Shared locks for the moment of the read.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_load]
    @message_id uniqueidentifier,
    @lock_id uniqueidentifier,
    @request_id bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT
        c.json_in,
        c.body_in
    FROM [dbo].[api_broker_call] AS c
    WHERE c.id = @request_id
        AND EXISTS (
            SELECT 1
            FROM [dbo].[asyncresponse_transport_messages] AS m
            WHERE m.id = @message_id
                AND m.lock_id = @lock_id);
    RETURN 0;
END;
GO
