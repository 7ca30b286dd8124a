/*
Every key column of every index of the schema's tables, in key order.
Parameters: @schema nvarchar(128).
Result: table_name, index_name, index_type (1 clustered, 2 nonclustered), is_unique, is_primary_key, is_disabled,
has_filter, column_name.
*/
SELECT
    o.name AS table_name,
    i.name AS index_name,
    CONVERT(int, i.type) AS index_type,
    i.is_unique,
    i.is_primary_key,
    i.is_disabled,
    i.has_filter,
    c.name AS column_name
FROM sys.indexes AS i
INNER JOIN sys.objects AS o
    ON o.object_id = i.object_id
INNER JOIN sys.schemas AS s
    ON s.schema_id = o.schema_id
INNER JOIN sys.index_columns AS k
    ON k.object_id = i.object_id
    AND k.index_id = i.index_id
INNER JOIN sys.columns AS c
    ON c.object_id = k.object_id
    AND c.column_id = k.column_id
WHERE s.name = @schema
    AND o.type = 'U'
    AND k.key_ordinal > 0
ORDER BY
    o.name,
    i.index_id,
    k.key_ordinal;
