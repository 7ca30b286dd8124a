DECLARE @p1 int; EXEC sp_prepare @p1 OUTPUT, N'@P1 int, @P2 nvarchar(4000)', N'SELECT * FROM t WHERE a = @P1 AND b = @P2', 1; EXEC sp_execute @p1, 5, N'x'; EXEC sp_unprepare @p1;
DECLARE @tv dbo.IdList; INSERT @tv VALUES (1); EXEC dbo.UseTvp @ids = @tv;
