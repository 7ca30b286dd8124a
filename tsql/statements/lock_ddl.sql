/*
Takes the lock under which the schema's objects are made, until the transaction ends.
Parameters: @resource nvarchar(255).
Result: granted int, negative when it was not granted within 60 s.
*/
DECLARE @granted int;
EXEC @granted = sys.sp_getapplock
    @Resource = @resource,
    @LockMode = N'Exclusive',
    @LockOwner = N'Transaction',
    @LockTimeout = 60000,
    @DbPrincipal = N'public';
SELECT @granted AS granted;
