/*
Binds the name of a credential to an endpoint, anew if it was bound before, and gives a principal the permission to use
it.
Parameters: @name, @endpoint, @kind, @field as the columns of api_broker_credential; @principal a database role or
public, NULL for nobody.
*/
UPDATE [dbo].[api_broker_credential]
SET endpoint = @endpoint,
    kind = @kind,
    field = @field
WHERE name = @name;

IF @@ROWCOUNT = 0
    INSERT INTO [dbo].[api_broker_credential] (
        name,
        endpoint,
        kind,
        field)
    VALUES (
        @name,
        @endpoint,
        @kind,
        @field);

INSERT INTO [dbo].[api_broker_permission] (
    principal,
    is_app_role,
    kind,
    name)
SELECT
    @principal,
    0,
    N'credential',
    @name
WHERE @principal IS NOT NULL
    AND NOT EXISTS (
        SELECT 1
        FROM [dbo].[api_broker_permission] AS p
        WHERE p.principal = @principal
            AND p.is_app_role = 0
            AND p.kind = N'credential'
            AND p.name = @name);
