SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_cancel: calls a request off.

Purpose
    A request that no worker has started never runs; one that runs is ended by its worker at its next heartbeat, which
    closes its connection. What the target has done by then is done. Inside a transaction the cancellation leaves
    through the loopback like a request: it stands whatever becomes of the transaction.
    A request belongs to the login and app role that made it, and to db_owner and api_broker_admin; to anyone else its
    id is unknown.
Parameters
    @id                       of the request
    @error                    why the cancellation was not sent
Return codes
    0 cancelled, it never runs
    1 it runs, and will be ended
    2 too late, it has its reply; collect it
    5 not sent; see @error
    6 unknown: the link broke after it may have arrived; call again
    7 no such request: the id is unknown, somebody else's, or past its retention
Errors
    54001-54005, 54044, 54062: misuse.
Locks
    Through the loopback none of the caller's; else the queue row and the reply of the cancelled request, for a moment.
    It never rolls back, returns no result set, and SQL Server restores its SET options and level.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_cancel]
    @id bigint,
    @error nvarchar(2048) = NULL OUTPUT
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
        @link nvarchar(128),
        @admin bit,
        @app_role nvarchar(100),
        @requested_by nvarchar(128) = ORIGINAL_LOGIN(),
        @secret varbinary(32),
        @result bigint,
        @code int;
    SET @error = NULL;

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

        SELECT @link = s.link_server
        FROM [dbo].[api_broker_setting] AS s
        WHERE s.id = 1;
        IF @@ROWCOUNT = 0 OR (@trancount > 0 AND @secret IS NULL)
            THROW 54005, N'The broker is not deployed completely: api_broker_setting or api_broker_secret has no row. Deploy again.', 1;
        IF @id IS NULL
            THROW 54044, N'@id is missing.', 1;

        EXEC @admin = [dbo].[sp_api_broker_identity]
            @app_role = @app_role OUTPUT;
        IF NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_call] AS c WITH (READCOMMITTEDLOCK)
                WHERE c.id = @id
                    AND (@admin = 1
                        OR (c.requested_by + N'.' = @requested_by + N'.' COLLATE Latin1_General_100_BIN2
                            AND COALESCE(c.app_role, N'') = COALESCE(@app_role, N''))))
            RETURN 7;

        EXEC @code = [dbo].[sp_api_broker_send]
            @verb = N'cancel',
            @type = N'',
            @json = N'{}',
            @body = NULL,
            @lane = N'',
            @due_ms = NULL,
            @expires_ms = 0,
            @max_attempts = 0,
            @attempt_timeout_ms = 0,
            @idempotency_key = NULL,
            @app_role = @app_role,
            @on_complete = NULL,
            @on_commit = 0,
            @redrive_of = @id,
            @link = @link,
            @secret = @secret,
            @id = @result OUTPUT,
            @error = @error OUTPUT;
        RETURN CASE WHEN @code = 0 THEN @result ELSE @code END;
    END TRY
    BEGIN CATCH
        IF @trancount = 0 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() BETWEEN 54000 AND 54099 OR XACT_STATE() = -1 OR @@TRANCOUNT < @trancount
            THROW;
        SET @error = LEFT(CONCAT(N'Error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE()), 2048);
        RETURN 5;
    END CATCH;
END;
GO
