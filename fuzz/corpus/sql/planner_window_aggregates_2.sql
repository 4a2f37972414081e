CREATE TABLE big AS SELECT n, CASE WHEN n % 11 = 0 THEN NULL ELSE n % 40 END AS k,
 CASE WHEN n % 13 = 0 THEN NULL ELSE n % 3 END AS j,
 CASE WHEN n % 7 = 0 OR n % 40 = 4 THEN NULL ELSE CAST((n * 37) % 101 AS DECIMAL(8, 2)) END AS v, n % 5 AS w,
 CASE WHEN n % 101 = 0 THEN NULL ELSE n % 40 END AS i
 FROM (SELECT a.d * 1000 + b.d * 100 + c.d * 10 + e.d AS n FROM digit a, digit b, digit c, digit e
       WHERE a.d < 2)