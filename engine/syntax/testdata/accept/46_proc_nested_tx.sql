CREATE PROCEDURE [dbo].[Enqueue] (@Payload nvarchar(max), @Key varchar(64) = NULL, @Delay int = 0)
WITH EXECUTE AS OWNER, RECOMPILE
AS
SET NOCOUNT ON
DECLARE @started bit = 0
DECLARE @id TABLE (Id bigint)
BEGIN TRY
    IF @@TRANCOUNT = 0 BEGIN BEGIN TRANSACTION; SET @started = 1 END
    IF @Key IS NOT NULL AND EXISTS (SELECT 1 FROM dbo.Queue WITH (UPDLOCK, SERIALIZABLE) WHERE DedupKey = @Key AND State IN (0, 1))
    BEGIN
        IF @started = 1 ROLLBACK
        RETURN -1
    END
    INSERT dbo.Queue (Payload, DedupKey, VisibleAt) OUTPUT inserted.Id INTO @id
    VALUES (@Payload, @Key, DATEADD(SECOND, @Delay, SYSUTCDATETIME()))
    IF @started = 1 COMMIT TRANSACTION
    SELECT Id FROM @id
END TRY
BEGIN CATCH
    IF @started = 1 AND @@TRANCOUNT > 0 ROLLBACK TRANSACTION
    ;THROW
END CATCH
