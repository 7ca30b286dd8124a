SELECT j.Id, j.Name, j.Tags, i.[key], i.value, i.[type]
FROM OPENJSON(@json, '$.rows')
WITH (Id int '$.id', Name nvarchar(100) '$.name', Tags nvarchar(max) '$.tags' AS JSON) AS j
CROSS APPLY OPENJSON(j.Tags) AS i
WHERE j.Id IS NOT NULL;
