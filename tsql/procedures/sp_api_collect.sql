SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_collect: the answer of an earlier request, later.

Purpose
    Looks once, or waits like the call itself did. A request belongs to the login and the app role that
    made it, and to db_owner and api_broker_admin; to anyone else its id is unknown.
Parameters
    @id                       of the request
    @wait                     in ms; 0 looks once
    @status ... @error        as in sp_api_request
    @dataout                  the handler's output as it is
Return codes
    0 completed, whatever the status of the answer
    1 pending
    2 failed, expired or cancelled; see @error
    3 pending, and no live worker serves this type
    4 pending, and too many callers wait already
    7 no such request: the id is unknown, somebody else's, or past its retention
Errors
    54001, 54005, 54030, 54044: misuse.
Locks
    The wait holds the caller's connection, transaction and locks for at most @wait. The procedure itself leaves no
    lock behind but a shared lock on the row of api_broker_secret where the caller's level keeps those; nobody ever
    writes that row. It never rolls back, returns no result set, and SQL Server restores its SET options and level.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_collect]
    @id bigint,
    @wait int = 0,
    @status int = NULL OUTPUT,
    @response nvarchar(max) = NULL OUTPUT,
    @response_headers nvarchar(max) = NULL OUTPUT,
    @response_binary varbinary(max) = NULL OUTPUT,
    @error nvarchar(2048) = NULL OUTPUT,
    @dataout nvarchar(max) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @options int = @@OPTIONS,
        @trancount int = @@TRANCOUNT,
        @started datetime2(7) = SYSUTCDATETIME();
    SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
    SET XACT_ABORT, NUMERIC_ROUNDABORT OFF;
    SET ROWCOUNT 0;
    SET LOCK_TIMEOUT 1000;

    DECLARE
        @type nvarchar(50),
        @admin bit,
        @app_role nvarchar(100),
        @max_wait int,
        @max_waiters int,
        @alive_ms int,
        @secret varbinary(32),
        @code int;
    SELECT
        @status = NULL,
        @response = NULL,
        @response_headers = NULL,
        @response_binary = NULL,
        @error = NULL,
        @dataout = NULL;

    BEGIN TRY
        IF XACT_STATE() = -1
            THROW 54001, N'The transaction is doomed (XACT_STATE() = -1) and can only be rolled back. Roll back, then call again.', 1;

        IF @trancount = 0 AND @options & 2 = 2
            SET IMPLICIT_TRANSACTIONS OFF;

        -- See sp_api_request: the caller's SNAPSHOT transaction must begin with a read of its own level.
        IF @trancount > 0
            SELECT @secret = s.secret
            FROM [dbo].[api_broker_secret] AS s
            WHERE s.id = 1;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

        SELECT
            @max_wait = s.max_wait_ms,
            @max_waiters = s.max_waiters,
            @alive_ms = s.worker_alive_ms
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;

        IF @max_wait IS NULL
            THROW 54005, N'The broker is not deployed completely: api_broker_setting has no row. Deploy again.', 1;
        IF @id IS NULL
            THROW 54044, N'@id is missing.', 1;
        IF @wait IS NULL OR @wait NOT BETWEEN 0 AND @max_wait
            THROW 54030, N'@wait must be from 0 to the setting max_wait_ms, in milliseconds.', 1;

        EXEC @admin = [dbo].[sp_api_broker_identity]
            @app_role = @app_role OUTPUT;
        SELECT @type = c.type
        FROM [dbo].[api_broker_call] AS c
        WHERE c.id = @id
            AND (@admin = 1
                OR (c.requested_by + N'.' = ORIGINAL_LOGIN() + N'.' COLLATE Latin1_General_100_BIN2
                    AND COALESCE(c.app_role, N'') = COALESCE(@app_role, N'')));
        IF @type IS NULL
            RETURN 7;

        EXEC @code = [dbo].[sp_api_broker_wait]
            @id = @id,
            @type = @type,
            @wait = @wait,
            @started = @started,
            @alive_ms = @alive_ms,
            @max_waiters = @max_waiters,
            @options = @options;
        IF @code <> 0
            RETURN @code;

        EXEC @code = [dbo].[sp_api_broker_answer]
            @id = @id,
            @status = @status OUTPUT,
            @response = @response OUTPUT,
            @response_headers = @response_headers OUTPUT,
            @response_binary = @response_binary OUTPUT,
            @error = @error OUTPUT,
            @dataout = @dataout OUTPUT;
        RETURN @code;
    END TRY
    BEGIN CATCH
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() BETWEEN 54000 AND 54099 OR XACT_STATE() = -1 OR @@TRANCOUNT < @trancount
            THROW;
        SET @error = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        RETURN 1;
    END CATCH;
END;
GO
