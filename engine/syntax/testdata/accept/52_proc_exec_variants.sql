EXEC dbo.p; EXECUTE dbo.p 1, 'a', @x OUT, DEFAULT; EXEC @ret = dbo.p @a = 1, @b = @c OUTPUT WITH RECOMPILE;
EXEC dbo.p WITH RESULT SETS ((id int NOT NULL, n nvarchar(20))); EXEC @procname @p; EXEC p -5, 0x01, N'x', NULL, abc;
EXEC db..p; EXEC dbo.p;1 @x;
