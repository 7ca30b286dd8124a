/*
The text of every module of the schema, and the options it was made under.
Parameters: @schema nvarchar(128).
Result: name, definition (empty where it is encrypted or hidden), uses_ansi_nulls, uses_quoted_identifier.
*/
SELECT
    o.name,
    COALESCE(m.definition, N'') AS definition,
    COALESCE(m.uses_ansi_nulls, 0) AS uses_ansi_nulls,
    COALESCE(m.uses_quoted_identifier, 0) AS uses_quoted_identifier
FROM sys.sql_modules AS m
INNER JOIN sys.objects AS o
    ON o.object_id = m.object_id
INNER JOIN sys.schemas AS s
    ON s.schema_id = o.schema_id
WHERE s.name = @schema
ORDER BY o.name;
