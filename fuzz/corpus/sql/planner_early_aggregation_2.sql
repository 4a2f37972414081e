CREATE TABLE item AS SELECT n, CASE WHEN n % 17 = 0 THEN NULL ELSE n % 23 END AS k, n % 2 AS j,
 CASE WHEN n % 5 = 0 OR n % 23 = 7 THEN NULL ELSE n % 31 END AS x,
 CASE WHEN n % 3 = 0 THEN NULL ELSE CAST(n * 25 % 1000 AS DECIMAL(9, 2)) END AS v, 'text ' || n % 19 AS s, n % 4 = 0 AS b
 FROM (SELECT a.d * 100 + b.d * 10 + c.d AS n FROM digit a, digit b, digit c)