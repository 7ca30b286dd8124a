/*
What the server and the database are.
Result: one row: major version int, engine edition int, compatibility level int.
*/
SELECT
    CONVERT(int, SERVERPROPERTY(N'ProductMajorVersion')) AS major_version,
    CONVERT(int, SERVERPROPERTY(N'EngineEdition')) AS engine_edition,
    CONVERT(int, d.compatibility_level) AS compatibility_level
FROM sys.databases AS d
WHERE d.database_id = DB_ID();
