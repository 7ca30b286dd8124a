/*
Makes the rows that the broker cannot do without, and leaves those that are there as they are, but for the version.
Parameters: @schema_version int, @link_server nvarchar(128).
*/
INSERT INTO [dbo].[api_broker_setting] (
    id,
    link_server,
    schema_version)
SELECT
    1,
    @link_server,
    @schema_version
WHERE NOT EXISTS (SELECT 1 FROM [dbo].[api_broker_setting] AS s);

UPDATE [dbo].[api_broker_setting]
SET schema_version = @schema_version
WHERE id = 1
    AND schema_version <> @schema_version;

INSERT INTO [dbo].[api_broker_secret] (
    id,
    secret)
SELECT
    1,
    CRYPT_GEN_RANDOM(32)
WHERE NOT EXISTS (SELECT 1 FROM [dbo].[api_broker_secret] AS s);
