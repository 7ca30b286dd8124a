PRINT CONCAT(N'a', @b, CONVERT(nvarchar(10), 5)); KILL 55; CHECKPOINT; 
EXEC sp_addlinkedserver @server = N'srv', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'host,1433';
EXEC sp_rename 'dbo.a', 'b'; EXEC sp_help;
GO
sp_who 'active';
