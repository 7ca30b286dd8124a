INSERT dbo.T DEFAULT VALUES;
INSERT INTO dbo.T (a, b) SELECT a, b FROM s WHERE NOT EXISTS (SELECT * FROM dbo.T t2 WITH (UPDLOCK, HOLDLOCK) WHERE t2.a = s.a);
INSERT TOP (5) INTO @tv (a) VALUES (1), (DEFAULT), (NULL);
INSERT INTO dbo.T WITH (TABLOCK) (a) EXEC dbo.p;
INSERT INTO dbo.T (a) EXEC (N'select 1');
INSERT INTO dbo.Hist (a, act) SELECT a, act FROM (MERGE dbo.T AS t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1 OUTPUT inserted.a, $action AS act) AS m (a, act) WHERE act = 'UPDATE';
