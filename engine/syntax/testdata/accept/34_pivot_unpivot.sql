SELECT * FROM (SELECT y, q, amt FROM s) AS src PIVOT (SUM(amt) FOR q IN ([Q1], [Q2])) AS p;
SELECT u.id, u.col, u.val FROM t UNPIVOT (val FOR col IN (a, b)) AS u;
