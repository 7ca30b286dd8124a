DECLARE @rc int;
EXEC @rc = sp_getapplock @Resource = N'job:42', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 5000, @DbPrincipal = 'public';
IF @rc < 0 THROW 50010, 'lock timeout', 1;
EXEC sp_releaseapplock @Resource = N'job:42';
