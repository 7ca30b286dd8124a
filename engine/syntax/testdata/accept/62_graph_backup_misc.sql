BULK INSERT dbo.t FROM 'c:\f.csv' WITH (FIELDTERMINATOR = ',', FIRSTROW = 2);
BACKUP DATABASE AppDb TO DISK = N'/tmp/a.bak' WITH INIT, COMPRESSION;
SELECT * FROM sys.fn_dblog(NULL, NULL); EXEC xp_cmdshell 'dir'; RECONFIGURE WITH OVERRIDE; EXEC sp_configure 'show advanced options', 1;
