SELECT N'żółć 😀' AS [Имя], @größe AS größe, [日本] FROM [dbo].[表] WHERE [a b].[c] = N'ÿ';
