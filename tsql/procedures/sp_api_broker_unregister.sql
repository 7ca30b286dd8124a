SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_unregister: a worker process takes its leave.

Purpose
    Callers then know at once that it is gone, instead of when its last heartbeat is too old. What it knew about hosts
    goes with it. A missing row is fine.
Parameters
    @worker_id                as registered
Return codes
    0
Errors
    None of its own.
Locks
    The worker's own rows.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_unregister]
    @worker_id nvarchar(200)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DELETE FROM [dbo].[api_broker_worker]
    WHERE id = @worker_id;
    DELETE FROM [dbo].[api_broker_host]
    WHERE worker_id = @worker_id;
    RETURN 0;
END;
GO
