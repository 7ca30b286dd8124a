/*
Removes the name of a credential with its permissions.
Parameters: @name nvarchar(128).
Result: removed int, how many rows there were.
*/
DECLARE @removed int;
DELETE FROM [dbo].[api_broker_permission]
WHERE kind = N'credential'
    AND name = @name;
DELETE FROM [dbo].[api_broker_credential]
WHERE name = @name;
SET @removed = @@ROWCOUNT;
SELECT @removed AS removed;
