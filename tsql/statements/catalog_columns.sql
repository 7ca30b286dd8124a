/*
Every column of the schema's tables.
Parameters: @schema nvarchar(128).
Result: table_name, column_name, type_name, max_length, scale, is_nullable, is_identity, collation_name, default_text.
*/
SELECT
    o.name AS table_name,
    c.name AS column_name,
    t.name AS type_name,
    CONVERT(int, c.max_length) AS max_length,
    CONVERT(int, c.scale) AS scale,
    c.is_nullable,
    c.is_identity,
    COALESCE(c.collation_name, N'') AS collation_name,
    COALESCE(d.definition, N'') AS default_text
FROM sys.columns AS c
INNER JOIN sys.objects AS o
    ON o.object_id = c.object_id
INNER JOIN sys.schemas AS s
    ON s.schema_id = o.schema_id
INNER JOIN sys.types AS t
    ON t.user_type_id = c.user_type_id
LEFT JOIN sys.default_constraints AS d
    ON d.object_id = c.default_object_id
WHERE s.name = @schema
    AND o.type = 'U'
ORDER BY
    o.name,
    c.column_id;
