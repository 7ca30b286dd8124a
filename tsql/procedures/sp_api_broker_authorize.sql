SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_authorize: whether the caller may do what it asks for.

Purpose
    Internal. Deny by default: an HTTP request needs a row of the allow-list, and the caller a permission for it; every
    other job type needs a permission for the type; a credential one of its own, and a binding to the endpoint that
    matched. db_owner and api_broker_admin need no permissions, but the allow-list is for everybody.
    Rights are those of the original login and its database roles, whoever is impersonated. An app role, the key
    app_role of the session's context where it was set read-only, restricts them further and never adds any: a session
    can give itself any app role.
Parameters
    @type                     of the job
    @scheme, @host, @port, @path, @method   where an HTTP request goes, as sp_api_broker_check_http has them
    @credential               the name of a credential, or NULL
    @on_complete              the name of a completion procedure, or NULL
    @app_role                 output: the app role that counts, or NULL
Return codes
    0
Errors
    54070-54074: not allowed.
Locks
    Shared locks for the moment of the read.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_authorize]
    @type nvarchar(50),
    @scheme nvarchar(5) = NULL,
    @host nvarchar(253) = NULL,
    @port int = NULL,
    @path nvarchar(4000) = NULL,
    @method nvarchar(100) = NULL,
    @credential nvarchar(4000) = NULL,
    @on_complete nvarchar(4000) = NULL,
    @app_role nvarchar(100) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @endpoint nvarchar(128),
        @kind nvarchar(16) = N'type',
        @name nvarchar(128) = @type,
        @admin bit,
        @text nvarchar(2048),
        @user nvarchar(128);

    EXEC @admin = [dbo].[sp_api_broker_identity]
        @user = @user OUTPUT,
        @app_role = @app_role OUTPUT;

    IF @type = N'http'
    BEGIN
        -- A path that other parsers could read as another one matches no prefix but "/".
        SELECT TOP (1) @endpoint = e.name
        FROM [dbo].[api_broker_endpoint] AS e
        WHERE e.host = @host
            AND e.port = @port
            AND e.scheme = @scheme
            AND e.enabled = 1
            AND (e.methods IS NULL OR CHARINDEX(N',' + @method + N',', N',' + e.methods + N',') > 0)
            AND (e.path_prefix = N'/'
                OR (LEFT(@path + N'/', LEN(e.path_prefix) + 1) COLLATE Latin1_General_100_BIN2 = e.path_prefix + N'/'
                    AND LOWER(@path) + N'/' NOT LIKE N'%/./%'
                    AND LOWER(@path) + N'/' NOT LIKE N'%/../%'
                    AND LOWER(@path) NOT LIKE N'%[%]2e%'
                    AND LOWER(@path) NOT LIKE N'%[%]2f%'
                    AND LOWER(@path) NOT LIKE N'%[%]5c%'
                    AND LOWER(@path) NOT LIKE N'%[%][01]%' -- control characters
                    AND LOWER(@path) NOT LIKE N'%[%]7f%'
                    AND LOWER(@path) NOT LIKE N'%[%]c[01]%' -- ASCII in more bytes than it has
                    AND LOWER(@path) NOT LIKE N'%[%]e0[%][89]%'
                    AND LOWER(@path) NOT LIKE N'%[%]f0[%]8%'))
        ORDER BY LEN(e.path_prefix) DESC;
        IF @endpoint IS NULL
        BEGIN
            SET @text = LEFT(CONCAT(N'No row of api_broker_endpoint allows ', @method, N' ', @scheme, N'://', @host, N':', @port,
                N' with this path. An admin adds one; without a row nothing is called.'), 2048);
            THROW 54070, @text, 1;
        END;
        SELECT
            @kind = N'endpoint',
            @name = @endpoint;
    END;

    IF @admin = 0 AND NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_permission] AS p
            WHERE p.is_app_role = 0
                AND p.kind = @kind
                AND p.name IN (@name, N'*')
                AND (p.principal = N'public'
                    OR (@user IS NULL AND IS_ROLEMEMBER(p.principal) = 1)
                    OR (@user IS NOT NULL AND IS_ROLEMEMBER(p.principal, @user) = 1)))
        OR @app_role IS NOT NULL AND NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_permission] AS p
            WHERE p.is_app_role = 1
                AND p.kind = @kind
                AND p.name IN (@name, N'*')
                AND p.principal = @app_role)
    BEGIN
        SET @text = CONCAT(
            N'The ', CASE WHEN @app_role IS NULL THEN N'login' ELSE N'login or its app role' END,
            N' has no permission for the ', CASE WHEN @kind = N'type' THEN N'job type ' ELSE N'endpoint ' END, @name,
            N'. An admin adds a row to api_broker_permission.');
        IF @kind = N'endpoint'
            THROW 54071, @text, 1;
        THROW 54072, @text, 1;
    END;

    IF @credential IS NOT NULL AND (
            @endpoint IS NULL
            OR NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_credential] AS c
                WHERE c.name = @credential
                    AND DATALENGTH(c.name) = DATALENGTH(@credential)
                    AND c.kind <> N'certificate'
                    AND c.endpoint = @endpoint)
            OR @admin = 0 AND NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_permission] AS p
                WHERE p.is_app_role = 0
                    AND p.kind = N'credential'
                    AND p.name IN (@credential, N'*')
                    AND (p.principal = N'public'
                        OR (@user IS NULL AND IS_ROLEMEMBER(p.principal) = 1)
                        OR (@user IS NOT NULL AND IS_ROLEMEMBER(p.principal, @user) = 1)))
            OR @app_role IS NOT NULL AND NOT EXISTS (
                SELECT 1
                FROM [dbo].[api_broker_permission] AS p
                WHERE p.is_app_role = 1
                    AND p.kind = N'credential'
                    AND p.name IN (@credential, N'*')
                    AND p.principal = @app_role))
        THROW 54073, N'@credential is unknown, bound to another endpoint, or not permitted to the caller. An admin looks after api_broker_credential and api_broker_permission.', 1;

    IF @on_complete IS NOT NULL AND NOT EXISTS (
            SELECT 1
            FROM [dbo].[api_broker_completion] AS c
            WHERE c.name = @on_complete
                AND DATALENGTH(c.name) = DATALENGTH(@on_complete))
        THROW 54074, N'@on_complete names no completion procedure that an admin has registered in api_broker_completion.', 1;
    RETURN 0;
END;
GO
