#!/usr/bin/env python3
"""Compares Volley with DuckDB and Polars on short queries over the tables of TPC-H.

    bench/queries.py                    scale 10
    bench/queries.py --scale 1 --only join,distinct

Common queries: counts, extremes, groups of all sizes, distinct values, texts, top
rows, windows, joins of all kinds. Each returns one row. `volley tpch generate` makes the files on
first use. See `statements.py` for how times are taken.
"""

import subprocess
import sys

import compare
import statements

TABLES = ["lineitem", "orders", "customer", "part", "partsupp", "supplier", "nation"]

QUERIES = {
    "count": "select count(*) from lineitem",
    "count, filter": "select count(*) from lineitem where l_quantity > 25",
    "extremes of integers": "select min(l_orderkey), max(l_orderkey), count(*) from lineitem",
    "extremes of decimals": "select max(l_tax), max(l_extendedprice) from lineitem",
    "extremes, filter": "select min(l_extendedprice), max(l_orderkey) from lineitem where l_discount > 0.05",
    "sums": "select sum(l_quantity), sum(l_discount) from lineitem",
    "average": "select avg(l_extendedprice), sum(l_tax) from lineitem",
    "sum of products": "select count(*), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) from lineitem",
    "sums of cases": "select sum(case when l_shipmode = 'AIR' then l_extendedprice else 0 end), "
    "sum(case when l_shipmode in ('MAIL', 'SHIP') then 1 else 0 end) from lineitem",
    "distinct, 100,000": "select count(distinct l_suppkey) from lineitem",
    "distinct, 15 million": "select count(distinct l_orderkey) from lineitem",
    "distinct texts": "select count(distinct l_comment) from lineitem where l_quantity < 10",
    "distinct beside sums": "select count(*), count(distinct o_custkey), sum(o_totalprice) from orders "
    "where o_orderstatus = 'F'",
    "distinct by group": "select sum(n), sum(d) from (select l_shipmode, count(*) as n, "
    "count(distinct l_suppkey) as d from lineitem group by l_shipmode) g",
    "distinct pairs": "select count(*) from (select distinct l_partkey, l_suppkey from lineitem) t",
    "groups, 100,000": "select count(*), sum(n) from (select l_suppkey, count(*) as n from lineitem group by l_suppkey) g",
    "groups, 2 million": "select count(*), sum(n) from (select l_partkey, count(*) as n, sum(l_quantity) as q "
    "from lineitem group by l_partkey) g",
    "groups, 15 million, sorted": "select count(*), sum(n) from (select l_orderkey, count(*) as n, "
    "sum(l_quantity) as q from lineitem group by l_orderkey) g",
    "groups of three texts": "select count(*), sum(n) from (select l_shipmode, l_returnflag, l_shipinstruct, "
    "count(*) as n, sum(l_quantity) as q, min(l_shipdate) as d from lineitem group by 1, 2, 3) g",
    "groups of days": "select count(*), sum(n) from (select l_shipdate, count(*) as n, "
    "avg(l_extendedprice) as a from lineitem group by 1) g",
    "groups of months": "select count(*), sum(n) from (select extract(year from l_shipdate) as y, "
    "extract(month from l_shipdate) as m, count(*) as n, avg(l_extendedprice) as a from lineitem group by 1, 2) g",
    "groups, 1 million": "select count(*), sum(n) from (select o_custkey, count(*) as n, "
    "max(o_totalprice) as m from orders group by 1) g",
    "groups of 10,000 texts": "select count(*), sum(n) from (select o_clerk, o_orderpriority, "
    "count(*) as n from orders group by 1, 2) g",
    "groups of made texts": "select count(*), sum(n) from (select upper(substr(l_comment, 1, 3)) as k, "
    "count(*) as n from lineitem group by 1) g",
    "union": "select count(*) from (select l_orderkey from lineitem union select o_orderkey from orders) t",
    "lengths of texts": "select count(*), sum(length(l_comment)) from lineitem",
    "texts with parts": "select count(*) from lineitem where l_comment like '%special%requests%'",
    "texts with beginnings": "select count(*) from lineitem where l_comment like 'carefully%'",
    "texts with one of two parts": "select count(*) from orders "
    "where o_comment like '%special%' or o_comment like '%pending%'",
    "top 100, one column": "select count(*), min(l_extendedprice) from "
    "(select l_extendedprice from lineitem order by l_extendedprice desc limit 100) t",
    "top 1000, all columns": "select count(*), sum(l_orderkey) from (select * from lineitem "
    "order by l_extendedprice desc, l_orderkey, l_linenumber limit 1000) t",
    "first rows of partitions": "select count(*), sum(rn) from (select row_number() over "
    "(partition by o_custkey order by o_orderdate, o_orderkey) as rn from orders) t where rn <= 3",
    "running sums": "select count(*), sum(s) from (select sum(o_totalprice) over "
    "(partition by o_custkey order by o_orderdate, o_orderkey) as s from orders) t",
    "join, 15 million": "select count(*), sum(l_quantity) from lineitem join orders on l_orderkey = o_orderkey",
    "join, 15 million, filter": "select count(*), sum(l_quantity) from lineitem join orders "
    "on l_orderkey = o_orderkey where o_orderdate < date '1992-06-01'",
    "join, 2 million": "select count(*), sum(l_quantity) from lineitem join part on l_partkey = p_partkey",
    "join, 2 million, filter": "select count(*), sum(l_quantity) from lineitem join part "
    "on l_partkey = p_partkey where p_name like '%green%'",
    "join of three": "select count(*), sum(l_quantity) from lineitem join supplier on l_suppkey = s_suppkey "
    "join nation on s_nationkey = n_nationkey where n_name = 'FRANCE'",
    "join, two keys": "select count(*), sum(ps_supplycost) from partsupp join lineitem "
    "on ps_partkey = l_partkey and ps_suppkey = l_suppkey",
    "join, texts": "select count(*), sum(a.c_acctbal) from customer a join customer b on a.c_phone = b.c_phone",
    "join, more conditions": "select count(*) from orders o join customer c on o.o_custkey = c.c_custkey "
    "and c.c_acctbal > 9000 and c.c_mktsegment <> 'BUILDING'",
    "outer join": "select count(*) from customer left join orders on c_custkey = o_custkey where o_orderkey is null",
    "in": "select count(*) from orders where o_orderkey in (select l_orderkey from lineitem where l_quantity > 49)",
    "not exists": "select count(*) from orders where not exists "
    "(select 1 from lineitem where l_orderkey = o_orderkey and l_returnflag = 'R')",
    "three days": "select count(*), sum(l_quantity) from lineitem "
    "where l_shipdate between date '1994-03-01' and date '1994-03-03'",
    "four keys, sorted": "select count(*), sum(l_quantity) from lineitem where l_orderkey in (1, 100000, 59999999, 32)",
    "a key, not sorted": "select count(*), sum(l_quantity) from lineitem where l_partkey = 123456",
}


def make_data(scale):
    folder = compare.ROOT / "data" / f"tpch-sf{scale}"
    if not folder.exists():
        subprocess.run([str(compare.BINARY), "tpch", "generate", "--scale", scale, "--out", str(folder)], check=True)
    return folder


def make_statements(options):
    folder = make_data(options.scale)
    made = []
    for name, sql in QUERIES.items():
        if statements.is_wanted(options, name):
            made.append((name, sql, {it: folder / f"{it}.parquet" for it in TABLES if it in sql}))
    return made


def add_arguments(parser):
    parser.add_argument("--scale", default="10")


if __name__ == "__main__":
    sys.exit(statements.main(__doc__, add_arguments, make_statements))
