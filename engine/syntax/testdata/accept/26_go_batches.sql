USE master;
GO
CREATE TABLE dbo.a (i int);
GO 3
-- a comment with GO inside
SELECT 'GO' AS g /* GO */;
GO
