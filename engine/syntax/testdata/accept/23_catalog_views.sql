SELECT s.name AS sch, t.name, c.name, ty.name, c.max_length, c.is_nullable
FROM sys.tables t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.columns c ON c.object_id = t.object_id
JOIN sys.types ty ON ty.user_type_id = c.user_type_id
WHERE EXISTS (SELECT 1 FROM sys.indexes i WHERE i.object_id = t.object_id AND i.is_primary_key = 1)
  AND t.name NOT LIKE N'%[_]tmp' ESCAPE '\'
ORDER BY 1, 2;
SELECT * FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME IN (N'a', N'b');
SELECT session_id, blocking_session_id FROM sys.dm_exec_requests WHERE session_id <> @@SPID;
