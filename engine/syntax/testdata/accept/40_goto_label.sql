retry:
BEGIN TRY
    UPDATE t SET a = 1;
END TRY
BEGIN CATCH
    IF ERROR_NUMBER() = 1205 AND @retries > 0 BEGIN SET @retries = @retries - 1; GOTO retry; END
    ELSE GOTO done
END CATCH
done: PRINT N'done';
