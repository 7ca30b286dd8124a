MERGE INTO dbo.Stock WITH (HOLDLOCK) AS tgt
USING (VALUES (@sku, @qty), (N'B', 2)) AS src (Sku, Qty)
ON tgt.Sku = src.Sku
WHEN MATCHED AND src.Qty = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET tgt.Qty = tgt.Qty + src.Qty, UpdatedAt = SYSUTCDATETIME()
WHEN NOT MATCHED BY TARGET THEN INSERT (Sku, Qty) VALUES (src.Sku, src.Qty)
WHEN NOT MATCHED BY SOURCE AND tgt.Qty < 0 THEN DELETE
OUTPUT $action, inserted.Sku, deleted.Qty INTO @log (act, sku, q);
