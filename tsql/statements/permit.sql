/*
Gives a principal the permission to use an endpoint, a job type or a credential.
Parameters: @principal nvarchar(128), @is_app_role bit, @kind nvarchar(16), @name nvarchar(128).
*/
INSERT INTO [dbo].[api_broker_permission] (
    principal,
    is_app_role,
    kind,
    name)
SELECT
    @principal,
    @is_app_role,
    @kind,
    @name
WHERE NOT EXISTS (
    SELECT 1
    FROM [dbo].[api_broker_permission] AS p
    WHERE p.principal = @principal
        AND p.is_app_role = @is_app_role
        AND p.kind = @kind
        AND p.name = @name);
