SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_call_completion: calls one completion procedure with few rights.

Purpose
    Internal. The procedure runs as api_broker_completion_user, whatever the worker's login may do. It reaches what its
    own owner owns, by ownership chain, and nothing else.
Parameters
    @schema, @name            of the registered procedure
    @id                       of the request
Return codes
    0
Errors
    Whatever the completion procedure raises.
Locks
    Whatever the completion procedure takes.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_call_completion]
    @schema nvarchar(128),
    @name nvarchar(128),
    @id bigint
WITH EXECUTE AS N'api_broker_completion_user'
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @procedure nvarchar(600) = QUOTENAME(@schema) + N'.' + QUOTENAME(@name);

    EXEC @procedure @id = @id;
    RETURN 0;
END;
GO
