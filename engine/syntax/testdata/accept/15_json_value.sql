SELECT JSON_VALUE(p.Doc, '$.order.id') AS OrderId, JSON_QUERY(p.Doc, '$.items') AS Items, ISJSON(p.Doc) AS ok,
       JSON_MODIFY(p.Doc, 'append $.tags', N'x') AS d2
FROM dbo.Payload AS p WHERE ISJSON(p.Doc) = 1 AND JSON_VALUE(p.Doc, 'strict $.type') = N'order';
