CREATE OR ALTER PROCEDURE dbo.ClaimWork
    @WorkerId int,
    @Batch int = 10,
    @Claimed int OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now datetime2(7) = SYSUTCDATETIME(), @n int;
    IF @Batch <= 0
        RETURN 1;
    ELSE IF @Batch > 100
        SET @Batch = 100;
    SELECT @n = COUNT(*) FROM dbo.Work WHERE State = N'new';
    WHILE @n > 0
    BEGIN
        SET @n -= 1;
        IF @n = 5 BREAK;
        CONTINUE;
    END
    SET @Claimed = @n;
    RETURN 0;
END
