/*
The schema's sequences.
Parameters: @schema nvarchar(128).
Result: name, type_name, start_value bigint, increment bigint, is_cycling.
*/
SELECT
    q.name,
    t.name AS type_name,
    CONVERT(bigint, q.start_value) AS start_value,
    CONVERT(bigint, q.increment) AS increment,
    q.is_cycling
FROM sys.sequences AS q
INNER JOIN sys.schemas AS s
    ON s.schema_id = q.schema_id
INNER JOIN sys.types AS t
    ON t.user_type_id = q.user_type_id
WHERE s.name = @schema
ORDER BY q.name;
