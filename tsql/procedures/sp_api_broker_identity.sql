SET ANSI_NULLS ON;
GO
SET QUOTED_IDENTIFIER ON;
GO
/*
Procedure sp_api_broker_identity: who calls.

Purpose
    Internal: one place for what an identity is. The owner of a request is the original login, whoever is impersonated,
    and the app role. The app role is the key app_role of the session's context, and counts only where it was set
    read-only, which setting it again to what it is finds out (15664).
Parameters
    @user                     output: the database user of the original login where somebody is impersonated, whose roles
                              are asked for by name; NULL where the session is nobody but itself
    @app_role                 output: the app role, or NULL
Return codes
    0 no admin
    1 an admin: the original login is in db_owner or api_broker_admin
Errors
    None of its own.
Locks
    None.
*/
CREATE OR ALTER PROCEDURE [dbo].[sp_api_broker_identity]
    @user nvarchar(128) = NULL OUTPUT,
    @app_role nvarchar(100) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE
        @value sql_variant = SESSION_CONTEXT(N'app_role'),
        @original nvarchar(128) = ORIGINAL_LOGIN();
    SELECT
        @user = NULL,
        @app_role = NULL;

    IF @value IS NOT NULL
    BEGIN
        BEGIN TRY
            EXEC sys.sp_set_session_context
                @key = N'app_role',
                @value = @value;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() <> 15664
                THROW;
            SET @app_role = LEFT(CONVERT(nvarchar(4000), @value), 100);
        END CATCH;
    END;

    IF SUSER_SNAME() = @original
        RETURN CASE WHEN IS_ROLEMEMBER(N'db_owner') = 1 OR IS_ROLEMEMBER(N'api_broker_admin') = 1 THEN 1 ELSE 0 END;

    IF IS_SRVROLEMEMBER(N'sysadmin', @original) = 1
        SET @user = N'dbo';
    ELSE
        SELECT @user = p.name
        FROM sys.database_principals AS p
        WHERE p.sid = SUSER_SID(@original);
    -- A user that this context cannot see has no roles here.
    SET @user = COALESCE(@user, N'guest');
    RETURN CASE
        WHEN @user = N'dbo' OR IS_ROLEMEMBER(N'db_owner', @user) = 1 OR IS_ROLEMEMBER(N'api_broker_admin', @user) = 1 THEN 1
        ELSE 0
    END;
END;
GO
