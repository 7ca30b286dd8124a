/*
The names of credentials. The secrets are not in SQL.
Result: name, endpoint, kind, field, bound bit: whether the endpoint exists.
*/
SELECT
    c.name,
    c.endpoint,
    c.kind,
    c.field,
    CONVERT(bit, CASE WHEN e.name IS NULL THEN 0 ELSE 1 END) AS bound
FROM [dbo].[api_broker_credential] AS c
LEFT JOIN [dbo].[api_broker_endpoint] AS e
    ON e.name = c.endpoint
ORDER BY c.name;
