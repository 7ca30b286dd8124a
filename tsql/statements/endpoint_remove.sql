/*
Removes a row of the allow-list with its permissions. Credentials bound to it stay, and are of no use until there is
such a row again.
Parameters: @name nvarchar(128).
Result: removed int, how many rows there were.
*/
DECLARE @removed int;
DELETE FROM [dbo].[api_broker_permission]
WHERE kind = N'endpoint'
    AND name = @name;
DELETE FROM [dbo].[api_broker_endpoint]
WHERE name = @name;
SET @removed = @@ROWCOUNT;
SELECT @removed AS removed;
