/*
The version of the deployed objects.
Result: schema_version int; no row when the settings are missing.
*/
SELECT s.schema_version
FROM [dbo].[api_broker_setting] AS s
WHERE s.id = 1;
