CREATE TYPE dbo.IdList AS TABLE (Id int NOT NULL PRIMARY KEY, Name sysname NULL);
CREATE TYPE dbo.Phone FROM varchar(20) NOT NULL;
GO
CREATE PROCEDURE dbo.UseTvp @ids dbo.IdList READONLY, @p dbo.Phone = NULL, @v varbinary(max) = 0x, @c cursor VARYING OUTPUT AS SELECT * FROM @ids i WHERE i.Id > 0;
