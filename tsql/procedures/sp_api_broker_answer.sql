SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_answer: reads a reply that is there, once.

Purpose
    Internal: the last step of the caller's verbs. @dataout is the handler's output as it is; the others are its
    parts where the handler was http.
Parameters
    @id                       of the request
    the others                outputs
Return codes
    0 completed
    1 there is no reply
    2 failed, expired or cancelled; see @error
Errors
    None of its own.
Locks
    A shared lock on the reply for the moment of the read, never the session's snapshot.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_answer]
    @id bigint,
    @status int = NULL OUTPUT,
    @response nvarchar(max) = NULL OUTPUT,
    @response_headers nvarchar(max) = NULL OUTPUT,
    @response_binary varbinary(max) = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT,
    @dataout nvarchar(max) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @state nvarchar(16);

    SELECT
        @state = r.state,
        @status = r.http_status,
        @dataout = r.json_out,
        @response_binary = r.body_out,
        @error = CASE
            WHEN r.state <> N'completed' THEN LEFT(CONCAT(r.error_class, N': ', r.error_message), 2048)
        END
    FROM [dbo].[api_broker_reply] AS r WITH (READCOMMITTEDLOCK)
    WHERE r.request_id = @id;

    IF @state IS NULL
        RETURN 1;
    IF @status IS NOT NULL
        SELECT
            @response = j.body,
            @response_headers = j.headers
        FROM OPENJSON(@dataout)
        WITH (
            body nvarchar(max) N'$.body',
            headers nvarchar(max) N'$.headers' AS JSON
        ) AS j;
    RETURN CASE WHEN @state = N'completed' THEN 0 ELSE 2 END;
END;
GO
