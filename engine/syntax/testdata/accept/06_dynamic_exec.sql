DECLARE @sql nvarchar(max) = N'SELECT * FROM ' + QUOTENAME(@schema) + N'.' + QUOTENAME(@table) + N' WHERE id = @id';
EXEC (@sql);
EXEC (N'SELECT 1; ' + @sql) AS USER = 'bob';
EXECUTE sp_executesql @sql, N'@id int, @cnt int OUTPUT', @id = 5, @cnt = @c OUTPUT;
EXEC @rc = sys.sp_executesql @stmt = @sql, @params = N'@id int', @id = @x;
