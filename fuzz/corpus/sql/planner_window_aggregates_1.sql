CREATE TABLE dim AS SELECT m, CASE WHEN m % 9 = 0 THEN NULL ELSE m % 45 END AS k,
 CASE WHEN m IN (3, 4, 9, 18, 44, 48, 49) THEN 5 ELSE 6 + m % 45 END AS z, m % 4 AS w
 FROM (SELECT a.d * 10 + b.d AS m FROM digit a, digit b WHERE a.d < 6)