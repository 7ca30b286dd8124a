;WITH d AS (
    SELECT TOP (500) *
    FROM dbo.Queue WITH (ROWLOCK, READPAST)
    WHERE State = 3 AND FinishedAt < DATEADD(day, -7, SYSUTCDATETIME())
    ORDER BY FinishedAt
)
DELETE FROM d OUTPUT deleted.Id, deleted.Payload INTO dbo.Archive (Id, Payload);
