/*
Whether the schema exists.
Parameters: @schema nvarchar(128).
Result: one row: the schema's id, or NULL.
*/
SELECT SCHEMA_ID(@schema) AS schema_id;
