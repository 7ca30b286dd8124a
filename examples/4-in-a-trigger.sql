-- A trigger runs inside the transaction of its statement, so nothing else than a second connection could send from it.
-- prints: order 1 was priced with status 200

SET NOCOUNT ON;
IF OBJECT_ID(N'dbo.example_order', N'U') IS NOT NULL
    DROP TABLE dbo.example_order;
CREATE TABLE dbo.example_order (id int NOT NULL PRIMARY KEY, price_status int NULL);
GO
CREATE TRIGGER dbo.example_order_price ON dbo.example_order AFTER INSERT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @status int;
    EXEC dbo.sp_api_request @url = N'http://127.0.0.1:8080/ok', @wait = 20000, @status = @status OUTPUT;
    UPDATE o SET price_status = @status
    FROM dbo.example_order AS o
    INNER JOIN inserted AS i
        ON i.id = o.id;
END;
GO
INSERT INTO dbo.example_order (id) VALUES (1);
SELECT CONCAT(N'order ', id, N' was priced with status ', price_status) AS result FROM dbo.example_order;
DROP TABLE dbo.example_order;
GO
