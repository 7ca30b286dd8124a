/*
Every object of the schema.
Parameters: @schema nvarchar(128).
Result: name, type (as sys.objects has it).
*/
SELECT
    o.name,
    RTRIM(o.type) AS type
FROM sys.objects AS o
INNER JOIN sys.schemas AS s
    ON s.schema_id = o.schema_id
WHERE s.name = @schema
    AND o.type IN ('U', 'V', 'P', 'SO', 'SN', 'FN', 'IF', 'TF', 'PC', 'X', 'SQ')
ORDER BY o.name;
