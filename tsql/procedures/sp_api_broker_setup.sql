SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_setup: makes the loopback linked server, or maps one more login to it, and proves it.

Purpose
    The link leads from this server to itself as a login of least rights. rpc out is on, because the link is for calls;
    promotion is off, because with it the call would join the caller's transaction and need a coordinator; data access is
    off, because nothing else should go through it; both timeouts are short. The default mapping, which would let
    everybody through as themselves, is dropped: only named logins pass. The last step calls through the link from
    inside a transaction and finds another session at work while that transaction is untouched.
    For an admin: the system procedures that it calls check their own permissions.
Parameters
    @server                   the linked server; by default the setting link_server, else LinkedProjServer. The
                              setting is set to it
    @user, @pass              a SQL login that may execute sp_api_broker_request_linked_server and nothing else; the
                              password travels as a parameter, never as text of a statement
    @local_login              the login that may use the link; by default the current one. Call again for the next
    @data_source              by default tcp:127.0.0.1 and the port of this connection, or this server's name where the
                              connection has no port
    @encrypt                  N'yes', N'no' or N'strict'
    @trust_certificate        1 does not check the certificate, which is this server's own
    @recreate                 1 drops the linked server first, with all its mappings
Return codes
    0
Errors
    54004 no linked servers here, 54050 called inside a transaction, 54051 an argument is missing or wrong, 54052 the
    linked server leads elsewhere, 54053 the probe failed; and those of the system procedures
Locks
    Those of the system procedures, none of them for longer than they run.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_setup]
    @server nvarchar(128) = NULL,
    @user nvarchar(128),
    @pass nvarchar(128),
    @local_login nvarchar(128) = NULL,
    @data_source nvarchar(4000) = NULL,
    @encrypt nvarchar(10) = N'yes',
    @trust_certificate bit = 1,
    @recreate bit = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT, IMPLICIT_TRANSACTIONS OFF;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    IF @@TRANCOUNT > 0
        THROW 54050, N'sp_api_broker_setup cannot run inside a transaction, because sp_addlinkedserver cannot.', 1;
    IF SERVERPROPERTY(N'EngineEdition') = 5
        THROW 54004, N'There are no linked servers on Azure SQL Database, so a request cannot leave an open transaction. Call outside the transaction, or with @on_commit = 1 and @wait = 0.', 1;

    DECLARE
        @provider nvarchar(128),
        @provider_string nvarchar(4000),
        @existing nvarchar(4000),
        @four_part nvarchar(800),
        @secret varbinary(32),
        @tag varbinary(32),
        @message_id uniqueidentifier = NEWID(),
        @returned int,
        @rc int,
        @other_session bigint,
        @failure nvarchar(2048),
        @text nvarchar(2048),
        @verb nvarchar(20) = N'probe',
        @type nvarchar(50) = N'http',
        @lane nvarchar(200) = N'api.normal',
        @json nvarchar(max) = N'{}',
        @body varbinary(max),
        @requested_by nvarchar(128) = ORIGINAL_LOGIN(),
        @app_user nvarchar(128),
        @app_role nvarchar(100),
        @idempotency_key nvarchar(200),
        @on_complete nvarchar(128),
        @redrive_of bigint,
        @due_ms int,
        @expires_ms int = 1000,
        @max_attempts int = 1,
        @attempt_timeout_ms int = 1000,
        @session_id int = @@SPID,
        @transaction_id bigint;

    SELECT
        @server = COALESCE(@server, (SELECT s.link_server FROM [dbo].[api_broker_setting] AS s WHERE s.id = 1), N'LinkedProjServer'),
        @local_login = COALESCE(@local_login, SUSER_SNAME()),
        @data_source = COALESCE(
            @data_source,
            N'tcp:127.0.0.1,' + CONVERT(nvarchar(10), CONNECTIONPROPERTY('local_tcp_port')),
            CONVERT(nvarchar(128), @@SERVERNAME)),
        @provider = CASE
            WHEN CONVERT(int, SERVERPROPERTY(N'ProductMajorVersion')) <= 15 THEN N'SQLNCLI'
            ELSE N'MSOLEDBSQL'
        END;
    IF @user IS NULL OR @user = N'' OR @pass IS NULL OR @server = N'' OR @data_source IS NULL OR @data_source = N''
        OR @encrypt IS NULL OR @encrypt NOT IN (N'yes', N'no', N'strict') OR @trust_certificate IS NULL
        THROW 54051, N'sp_api_broker_setup needs @user, @pass, and @encrypt of yes, no or strict.', 1;
    SET @provider_string = CONCAT(
        N'Encrypt=', @encrypt,
        N';TrustServerCertificate=', CASE WHEN @trust_certificate = 1 THEN N'yes' ELSE N'no' END, N';');

    SELECT @existing = s.data_source
    FROM sys.servers AS s
    WHERE s.name = @server
        AND s.is_linked = 1;
    IF @existing IS NOT NULL AND @recreate = 1
    BEGIN
        EXEC sys.sp_dropserver @server = @server, @droplogins = N'droplogins';
        SET @existing = NULL;
    END;
    IF @existing <> @data_source
        THROW 54052, N'The linked server exists and has another data source. Drop it, give @data_source as it is, or call with @recreate = 1.', 1;
    IF @existing IS NULL
    BEGIN
        EXEC sys.sp_addlinkedserver
            @server = @server,
            @srvproduct = N'',
            @provider = @provider,
            @datasrc = @data_source,
            @provstr = @provider_string;
        EXEC sys.sp_droplinkedsrvlogin @rmtsrvname = @server, @locallogin = NULL;
    END;

    EXEC sys.sp_serveroption @server = @server, @optname = N'rpc out', @optvalue = N'true';
    EXEC sys.sp_serveroption @server = @server, @optname = N'remote proc transaction promotion', @optvalue = N'false';
    EXEC sys.sp_serveroption @server = @server, @optname = N'data access', @optvalue = N'false';
    EXEC sys.sp_serveroption @server = @server, @optname = N'connect timeout', @optvalue = N'2';
    EXEC sys.sp_serveroption @server = @server, @optname = N'query timeout', @optvalue = N'2';
    EXEC sys.sp_addlinkedsrvlogin
        @rmtsrvname = @server,
        @useself = N'false',
        @locallogin = @local_login,
        @rmtuser = @user,
        @rmtpassword = @pass;
    UPDATE [dbo].[api_broker_setting]
    SET link_server = @server
    WHERE id = 1
        AND (link_server IS NULL OR link_server <> @server);

    -- The proof, for the current login only: nobody can call in the name of another.
    IF @local_login <> SUSER_SNAME()
        RETURN 0;
    SELECT @secret = s.secret
    FROM [dbo].[api_broker_secret] AS s
    WHERE s.id = 1;
    SET @four_part = CONCAT(QUOTENAME(@server), N'.', QUOTENAME(DB_NAME()), N'.[dbo].[sp_api_broker_request_linked_server]');
    SET @tag = HASHBYTES(
        N'SHA2_256',
        @secret + CONVERT(varbinary(max), CONCAT(
            @verb, N'|', @type, N'|', @lane, N'|', @message_id, N'|', @due_ms, N'|', @expires_ms, N'|', @max_attempts, N'|',
            @attempt_timeout_ms, N'|', @session_id, N'|', @transaction_id, N'|', @redrive_of, N'|',
            DATALENGTH(@requested_by), N'|', DATALENGTH(@app_user), N'|', DATALENGTH(@app_role), N'|',
            DATALENGTH(@idempotency_key), N'|', DATALENGTH(@on_complete), N'|', DATALENGTH(@json), N'|', DATALENGTH(@body), N'|',
            @requested_by, @app_user, @app_role, @idempotency_key, @on_complete, @json)) + COALESCE(@body, 0x));
    BEGIN TRY
        BEGIN TRANSACTION;
        EXEC @returned = @four_part
            @verb = @verb,
            @type = @type,
            @json = @json,
            @body = @body,
            @lane = @lane,
            @requested_by = @requested_by,
            @app_user = @app_user,
            @app_role = @app_role,
            @session_id = @session_id,
            @transaction_id = @transaction_id,
            @due_ms = @due_ms,
            @expires_ms = @expires_ms,
            @max_attempts = @max_attempts,
            @attempt_timeout_ms = @attempt_timeout_ms,
            @idempotency_key = @idempotency_key,
            @on_complete = @on_complete,
            @redrive_of = @redrive_of,
            @message_id = @message_id,
            @tag = @tag,
            @idout = @other_session OUTPUT,
            @rc = @rc OUTPUT;
        IF @rc IS NULL
            SET @failure = N'the loopback procedure did not run; may the mapped login execute it?';
        ELSE IF @rc <> 0
            SET @failure = CONCAT(N'the loopback procedure failed with error ', @rc, N'.');
        ELSE IF @other_session = @session_id OR @@TRANCOUNT <> 1
            SET @failure = N'the call did not run in a session of its own.';
    END TRY
    BEGIN CATCH
        SET @failure = CONCAT(N'error ', ERROR_NUMBER(), N': ', ERROR_MESSAGE());
    END CATCH;
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;
    IF @failure IS NOT NULL
    BEGIN
        SET @text = LEFT(CONCAT(N'The linked server was set up, but a call through it fails: ', @failure), 2048);
        THROW 54053, @text, 1;
    END;
    RETURN 0;
END;
GO
