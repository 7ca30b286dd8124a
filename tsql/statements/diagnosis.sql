/*
What doctor reads about the server and the database.
Result: one row: product_version, edition, major_version int, compatibility_level int, rcsi bit, snapshot bit (callers may
be in SNAPSHOT), login, mapped int (mappings of this login for the link), everybody int (mappings for every login).
*/
SELECT
    CONVERT(nvarchar(128), SERVERPROPERTY(N'ProductVersion')) AS product_version,
    CONVERT(nvarchar(128), SERVERPROPERTY(N'Edition')) AS edition,
    CONVERT(int, SERVERPROPERTY(N'ProductMajorVersion')) AS major_version,
    CONVERT(int, d.compatibility_level) AS compatibility_level,
    d.is_read_committed_snapshot_on AS rcsi,
    CONVERT(bit, CASE WHEN d.snapshot_isolation_state = 1 THEN 1 ELSE 0 END) AS snapshot,
    SUSER_SNAME() AS login,
    (
        SELECT COUNT(1)
        FROM sys.linked_logins AS l
        INNER JOIN sys.servers AS v
            ON v.server_id = l.server_id
        INNER JOIN [dbo].[api_broker_setting] AS s
            ON s.link_server = v.name
        WHERE l.local_principal_id = SUSER_ID()
            AND l.uses_self_credential = 0
    ) AS mapped,
    (
        SELECT COUNT(1)
        FROM sys.linked_logins AS l
        INNER JOIN sys.servers AS v
            ON v.server_id = l.server_id
        INNER JOIN [dbo].[api_broker_setting] AS s
            ON s.link_server = v.name
        WHERE l.local_principal_id = 0
    ) AS everybody
FROM sys.databases AS d
WHERE d.database_id = DB_ID();
