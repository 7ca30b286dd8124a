DECLARE @out TABLE (Id int NOT NULL, OldState tinyint, NewState tinyint);
UPDATE TOP (@n) q WITH (UPDLOCK, READPAST)
SET q.State = 1, q.Attempts += 1, @last = q.Id = q.Id
OUTPUT inserted.Id, deleted.State, inserted.State INTO @out (Id, OldState, NewState)
FROM dbo.Queue q
WHERE q.State = 0;
INSERT INTO dbo.T (a) OUTPUT inserted.id AS NewId, inserted.a VALUES (1), (2);
DELETE FROM dbo.T OUTPUT deleted.* WHERE a = 1;
