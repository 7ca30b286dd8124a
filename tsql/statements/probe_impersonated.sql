/*
Sends a request from inside a transaction as a database user, which the linked server cannot be used as. The transaction
is rolled back.
Result: one row: number int, the error that it was refused with, or 0 if it was not; and message.
*/
DECLARE
    @number int = 0,
    @code int,
    @message nvarchar(2048) = N'';
BEGIN TRY
    EXECUTE AS USER = N'dbo';
    BEGIN TRY
        BEGIN TRANSACTION;
        EXEC @code = [dbo].[sp_api_broker_request]
            @type = N'doctor',
            @json = N'{}',
            @wait = 0,
            @priority = N'low',
            @expires_ms = 1,
            @max_attempts = 1,
            @error = @message OUTPUT;
    END TRY
    BEGIN CATCH
        SELECT
            @number = ERROR_NUMBER(),
            @message = ERROR_MESSAGE();
    END CATCH;
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;
    REVERT;
END TRY
BEGIN CATCH
    SELECT
        @number = ERROR_NUMBER(),
        @message = ERROR_MESSAGE();
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;
END CATCH;
SELECT
    @number AS number,
    COALESCE(@message, CONCAT(N'code ', @code)) AS message;
