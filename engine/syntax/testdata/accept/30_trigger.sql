CREATE TRIGGER dbo.trg_Orders ON dbo.Orders AFTER INSERT, UPDATE, DELETE AS
BEGIN
    IF UPDATE(Amount) OR (COLUMNS_UPDATED() & 2) > 0
        INSERT dbo.Audit (Id, Old, New) SELECT COALESCE(i.Id, d.Id), d.Amount, i.Amount FROM inserted i FULL OUTER JOIN deleted AS d ON d.Id = i.Id;
END
GO
DISABLE TRIGGER dbo.trg_Orders ON dbo.Orders;
ENABLE TRIGGER ALL ON dbo.Orders;
