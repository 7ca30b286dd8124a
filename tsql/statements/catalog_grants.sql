/*
What the broker's roles may do with the objects of the schema.
Parameters: @schema nvarchar(128).
Result: principal, object (empty for a principal without rights there), permission, denied. Every principal of the
broker has at least one row.
*/
SELECT
    p.name AS principal,
    COALESCE(g.object_name, N'') AS object_name,
    COALESCE(g.permission_name, N'') AS permission_name,
    CONVERT(bit, CASE WHEN g.state = 'D' THEN 1 ELSE 0 END) AS denied
FROM sys.database_principals AS p
LEFT JOIN (
    SELECT
        d.grantee_principal_id,
        o.name AS object_name,
        d.permission_name,
        d.state
    FROM sys.database_permissions AS d
    INNER JOIN sys.objects AS o
        ON o.object_id = d.major_id
    INNER JOIN sys.schemas AS s
        ON s.schema_id = o.schema_id
    WHERE d.class = 1
        AND s.name = @schema
) AS g
    ON g.grantee_principal_id = p.principal_id
WHERE p.name LIKE N'api[_]broker[_]%'
ORDER BY
    p.name,
    g.object_name,
    g.permission_name;
