SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_reset_host: closes the circuit breaker of an endpoint's host.

Purpose
    Every worker forgets the failures of the host the next time it reads the policy, within seconds. A breaker belongs
    to a scheme, host and port, so the other endpoint rows of the same host are reset with this one.
Parameters
    @endpoint                 the name of a row of api_broker_endpoint
Return codes
    0
Errors
    54075 the caller is no admin, 54081 there is no such endpoint
Locks
    The endpoint rows of the host.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_reset_host]
    @endpoint nvarchar(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET ROWCOUNT 0;
    DECLARE @admin bit;

    EXEC @admin = [dbo].[sp_api_broker_identity];
    IF @admin = 0
        THROW 54075, N'Only db_owner and api_broker_admin may do this.', 1;
    IF @endpoint IS NULL OR NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_endpoint] AS e
            WHERE e.name = @endpoint)
        THROW 54081, N'@endpoint names no row of api_broker_endpoint.', 1;

    UPDATE c
    SET reset_at = SYSUTCDATETIME()
    FROM [dbo].[api_broker_endpoint] AS e
    INNER JOIN [dbo].[api_broker_endpoint] AS c
        ON c.scheme = e.scheme
        AND c.host = e.host
        AND c.port = e.port
    WHERE e.name = @endpoint;
    RETURN 0;
END;
GO
