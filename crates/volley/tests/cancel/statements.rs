//! Statements that reach every operator.

/// Name and text. `{out}` is a file to write, `{numbers}` are many numbers.
pub const STATEMENTS: [(&str, &str); 65] = [
    ("scan", "SELECT count(*) FROM lineitem WHERE l_comment = 'x' AND l_quantity > 100"),
    ("scan all", "SELECT * FROM lineitem"),
    ("scan csv", "SELECT count(*) FROM lines WHERE l_comment = 'x' AND l_quantity > 100"),
    ("scan csv all", "SELECT * FROM lines"),
    ("scan json", "SELECT count(*), max(o_comment) FROM objects WHERE o_orderkey > 100"),
    ("in list", "SELECT count(*) FROM lineitem WHERE l_partkey * 2 IN ({numbers})"),
    ("like", "SELECT count(*) FROM lineitem WHERE l_comment LIKE '%a%e%i%o%u%x%y%z%'"),
    (
        "like long",
        "SELECT count(*) FROM orders o, region WHERE repeat(o_comment || r_comment, 40) \
            LIKE '%fox%jumps%over%the%lazy%dog%'",
    ),
    ("regexp", "SELECT count(*) FROM lineitem WHERE regexp_like(l_comment, '(a|b)*c.*d.*e$')"),
    ("string grow", "SELECT max(length(repeat(l_comment, 1000))) FROM lineitem"),
    ("string huge", "SELECT sum(length(upper(repeat(o_comment, 300)))) FROM orders"),
    (
        "lambda",
        "SELECT sum(reduce(a, 0, (s, x) -> s + x % 7, s -> s)) \
            FROM (SELECT array_agg(l_orderkey) AS a FROM lineitem GROUP BY l_suppkey) t, region",
    ),
    ("keyless", "SELECT sum(l_quantity), max(l_comment), count(*) FROM lineitem"),
    ("aggregation", "SELECT l_orderkey, l_partkey, sum(l_quantity) FROM lineitem GROUP BY ALL"),
    ("aggregation text", "SELECT l_comment, count(*) FROM lineitem GROUP BY 1"),
    (
        "count distinct",
        "SELECT count(DISTINCT l_comment), count(DISTINCT l_orderkey) FROM lineitem",
    ),
    ("group distinct", "SELECT l_suppkey, count(DISTINCT l_orderkey) FROM lineitem GROUP BY 1"),
    ("string_agg", "SELECT length(string_agg(l_comment, ',')) FROM lineitem"),
    (
        "string_agg many",
        "SELECT l_orderkey, length(string_agg(l_comment, ',')) FROM lineitem GROUP BY 1",
    ),
    ("max text many", "SELECT l_orderkey, l_partkey, max(l_comment) FROM lineitem GROUP BY ALL"),
    ("approx many", "SELECT l_orderkey, approx_distinct(l_comment) FROM lineitem GROUP BY 1"),
    ("array_agg", "SELECT l_suppkey, cardinality(array_agg(l_comment)) FROM lineitem GROUP BY 1"),
    ("array_agg one", "SELECT cardinality(array_agg(l_orderkey)) FROM lineitem"),
    (
        "array_agg many",
        "SELECT l_orderkey, l_partkey, array_agg(l_comment) FROM lineitem GROUP BY ALL",
    ),
    (
        "array_agg sorted",
        "SELECT l_suppkey, array_agg(l_comment ORDER BY l_orderkey DESC) FROM lineitem GROUP BY 1",
    ),
    (
        "array_agg all sorted",
        "SELECT array_agg(l_comment ORDER BY l_comment) FROM lineitem, region",
    ),
    ("distinct", "SELECT DISTINCT l_orderkey, l_linenumber, l_comment FROM lineitem"),
    ("sort", "SELECT * FROM lineitem ORDER BY l_extendedprice, l_comment"),
    ("sort text", "SELECT l_comment FROM lineitem ORDER BY l_comment DESC"),
    ("sort product", "SELECT * FROM lineitem, region ORDER BY l_comment, r_name DESC"),
    ("top n", "SELECT * FROM lineitem ORDER BY l_comment LIMIT 1000000"),
    ("top n kept", "SELECT * FROM lineitem ORDER BY l_comment, l_orderkey LIMIT 60000"),
    ("limit", "SELECT * FROM lineitem LIMIT 1000000 OFFSET 3000"),
    (
        "hash join",
        "SELECT count(*), max(p.l_comment) FROM lineitem p JOIN lineitem b \
            ON p.l_orderkey = b.l_orderkey AND p.l_linenumber = b.l_linenumber",
    ),
    (
        "hash join many",
        // All pairs are made: counts alone would be multiplied.
        "SELECT count(*) FILTER (a.l_suppkey < b.l_suppkey) FROM lineitem a JOIN lineitem b \
            ON a.l_linenumber = b.l_linenumber",
    ),
    (
        "hash join one key",
        "SELECT count(*) FROM lineitem a JOIN lineitem b \
            ON a.l_linestatus = b.l_linestatus AND a.l_comment || b.l_comment = 'x'",
    ),
    (
        "left join",
        "SELECT count(*), count(o_comment) FROM lineitem LEFT JOIN orders \
            ON l_orderkey = o_orderkey AND l_comment < o_comment",
    ),
    (
        "full join",
        "SELECT count(*) FROM lineitem a FULL JOIN orders b ON a.l_comment = b.o_comment",
    ),
    (
        "full join pairs",
        "SELECT count(*) FROM lineitem a FULL JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
            AND a.l_comment < b.l_comment",
    ),
    (
        "semi join",
        "SELECT count(*) FROM lineitem WHERE l_comment IN (SELECT o_comment FROM orders) \
            OR l_orderkey IN (SELECT o_custkey FROM orders)",
    ),
    (
        "null-aware anti join",
        "SELECT count(*) FROM orders WHERE o_comment NOT IN \
            (SELECT l_comment FROM lineitem, region WHERE l_orderkey <> o_orderkey)",
    ),
    ("nested loop", "SELECT count(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_custkey"),
    (
        "nested loop left",
        "SELECT count(*) FROM orders a LEFT JOIN orders b ON a.o_comment > b.o_comment || 'x'",
    ),
    ("cross", "SELECT count(*), max(a.o_comment || b.o_comment) FROM orders a, orders b"),
    (
        "cross text",
        "SELECT count(*) FROM lineitem, orders WHERE l_comment || o_comment LIKE '%a%b%c%d%e%'",
    ),
    (
        "intersect",
        "SELECT l_comment, l_orderkey FROM lineitem INTERSECT ALL \
            SELECT o_comment, o_orderkey FROM orders",
    ),
    (
        "intersect wide",
        "SELECT * FROM lineitem INTERSECT SELECT * FROM lineitem WHERE l_tax > 0.01",
    ),
    ("except", "SELECT * FROM lineitem EXCEPT SELECT * FROM lineitem WHERE l_tax > 0.01"),
    (
        "union all",
        "SELECT l_comment FROM lineitem UNION ALL SELECT o_comment FROM orders \
            UNION ALL SELECT l_shipinstruct FROM lineitem UNION ALL SELECT o_clerk FROM orders",
    ),
    (
        "union",
        "SELECT l_comment FROM lineitem UNION SELECT o_comment FROM orders \
            UNION SELECT l_shipinstruct FROM lineitem UNION SELECT o_clerk FROM orders",
    ),
    (
        "shared subplan",
        "WITH s AS MATERIALIZED (SELECT l_orderkey AS k, l_comment AS c FROM lineitem) \
            SELECT count(*), max(a.c) FROM s a JOIN s b ON a.k = b.k",
    ),
    (
        "window pieces",
        "SELECT sum(l_quantity) OVER (ORDER BY l_partkey), ntile(9) OVER (ORDER BY l_comment), \
            lag(l_comment, 5) OVER (ORDER BY l_orderkey, l_linenumber) FROM lineitem",
    ),
    ("window", "SELECT rank() OVER (ORDER BY l_comment) FROM lineitem, region"),
    (
        "window many",
        "SELECT sum(l_quantity) OVER (PARTITION BY l_orderkey ORDER BY l_linenumber) FROM lineitem",
    ),
    (
        "window text",
        "SELECT string_agg(l_comment, '') OVER (PARTITION BY l_suppkey ORDER BY l_comment \
            ROWS 5 PRECEDING) FROM lineitem",
    ),
    (
        "window distinct",
        "SELECT count(DISTINCT l_suppkey) OVER (ORDER BY l_comment ROWS 500 PRECEDING) \
            FROM lineitem",
    ),
    (
        "window argument order",
        "SELECT count(f) FROM (SELECT last_value(l_tax ORDER BY l_comment) OVER () AS f \
            FROM lineitem, region)",
    ),
    (
        "window arrays",
        "SELECT array_agg(l_comment) OVER (PARTITION BY l_suppkey ORDER BY l_partkey) \
            FROM lineitem",
    ),
    ("create", "CREATE TABLE made AS SELECT * FROM lineitem, region"),
    ("insert", "INSERT INTO filled SELECT l_orderkey, l_comment FROM lineitem"),
    ("copy parquet", "COPY (SELECT * FROM lineitem) TO '{out}.parquet'"),
    ("copy csv", "COPY (SELECT * FROM lineitem) TO '{out}.csv'"),
    ("copy json", "COPY (SELECT * FROM lineitem) TO '{out}.json'"),
    ("copy sorted", "COPY (SELECT * FROM lineitem ORDER BY l_comment) TO '{out}.parquet'"),
    (
        "planning",
        "SELECT count(*) FROM orders a JOIN orders b USING (o_orderkey) \
            JOIN orders c USING (o_orderkey) JOIN orders d USING (o_orderkey) \
            JOIN orders e USING (o_orderkey) JOIN orders f USING (o_orderkey) \
            JOIN orders g USING (o_orderkey) JOIN orders h USING (o_orderkey) \
            JOIN orders i USING (o_orderkey) JOIN orders j USING (o_orderkey) \
            JOIN orders k USING (o_orderkey)",
    ),
];

/// Three thousand numbers, in a list.
pub fn numbers() -> String {
    (0..3000).map(|it| (it * it).to_string()).collect::<Vec<_>>().join(", ")
}
