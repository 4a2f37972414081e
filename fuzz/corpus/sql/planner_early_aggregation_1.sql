CREATE TABLE holder AS SELECT * FROM (SELECT m, CASE WHEN m % 8 = 0 THEN NULL ELSE m % 30 END AS k, m % 3 AS j
 FROM (SELECT a.d * 10 + b.d AS m FROM digit a, digit b WHERE a.d < 4) q) r