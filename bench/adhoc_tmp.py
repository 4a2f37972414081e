import sys
import math
import compare, statements
D = compare.ROOT/"data"/"tpch-sf10"
T = {t: D/f"{t}.parquet" for t in "lineitem orders customer part partsupp supplier nation region".split()}
Q = """
select count(*) from lineitem
select count(*) from lineitem where l_quantity > 25
select min(l_orderkey), max(l_orderkey), count(*) from lineitem
select max(l_tax), max(l_extendedprice) from lineitem
select sum(l_quantity), sum(l_discount) from lineitem
select avg(l_extendedprice), sum(l_tax) from lineitem
select count(distinct l_suppkey) from lineitem
select count(distinct l_orderkey) from lineitem
select count(distinct l_comment) from lineitem where l_quantity < 10
select count(*), sum(n) from (select l_suppkey, count(*) n from lineitem group by l_suppkey) g
select count(*), sum(n) from (select l_partkey, count(*) n, sum(l_quantity) q from lineitem group by l_partkey) g
select count(*), sum(n) from (select l_orderkey, count(*) n, sum(l_quantity) q from lineitem group by l_orderkey) g
select count(*), sum(n) from (select l_shipmode, l_returnflag, l_shipinstruct, count(*) n, sum(l_quantity) q, min(l_shipdate) from lineitem group by 1,2,3) g
select count(*), sum(n) from (select l_shipdate, count(*) n, avg(l_extendedprice) from lineitem group by 1) g
select count(*), sum(n) from (select extract(year from l_shipdate) y, extract(month from l_shipdate) m, count(*) n, avg(l_extendedprice) from lineitem group by 1,2) g
select count(*), sum(n) from (select o_custkey, count(*) n, max(o_totalprice) from orders group by 1) g
select count(*), sum(n) from (select o_clerk, o_orderpriority, count(*) n from orders group by 1,2) g
select count(*), sum(length(l_comment)) from lineitem
select count(*) from lineitem where l_comment like '%special%requests%'
select count(*) from lineitem where l_comment like 'carefully%'
select count(*) from orders where o_comment like '%special%' or o_comment like '%pending%'
select count(*), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) from lineitem
select sum(case when l_shipmode = 'AIR' then l_extendedprice else 0 end), sum(case when l_shipmode in ('MAIL','SHIP') then 1 else 0 end) from lineitem
select count(*) from (select l_orderkey from lineitem order by l_extendedprice desc limit 100) t
select count(*), sum(l_orderkey) from (select * from lineitem order by l_extendedprice desc limit 1000) t
select count(*), sum(rn) from (select row_number() over (partition by o_custkey order by o_orderdate) rn from orders) t where rn <= 3
select count(*), sum(s) from (select sum(o_totalprice) over (partition by o_custkey order by o_orderdate, o_orderkey) s from orders) t
select count(*), sum(l_quantity) from lineitem join orders on l_orderkey = o_orderkey
select count(*), sum(l_quantity) from lineitem join orders on l_orderkey = o_orderkey where o_orderdate < date '1992-06-01'
select count(*), sum(l_quantity) from lineitem join part on l_partkey = p_partkey
select count(*), sum(l_quantity) from lineitem join part on l_partkey = p_partkey where p_name like '%green%'
select count(*), sum(l_quantity) from lineitem join supplier on l_suppkey = s_suppkey join nation on s_nationkey = n_nationkey where n_name = 'FRANCE'
select count(*), sum(ps_supplycost) from partsupp join lineitem on ps_partkey = l_partkey and ps_suppkey = l_suppkey
select count(*) from orders where o_orderkey in (select l_orderkey from lineitem where l_quantity > 49)
select count(*) from orders where not exists (select 1 from lineitem where l_orderkey = o_orderkey and l_returnflag = 'R')
select count(*) from customer left join orders on c_custkey = o_custkey where o_orderkey is null
select count(*), sum(l_quantity) from lineitem where l_shipdate between date '1994-03-01' and date '1994-03-03'
select count(*), sum(l_quantity) from lineitem where l_orderkey in (1, 100000, 59999999, 32)
select count(*), sum(l_quantity) from lineitem where l_partkey = 123456
select count(*), count(distinct o_custkey), sum(o_totalprice) from orders where o_orderstatus = 'F'
select count(*) from (select distinct l_partkey, l_suppkey from lineitem) t
select count(*), sum(n) from (select upper(substr(l_comment, 1, 3)) k, count(*) n from lineitem group by 1) t
select count(*) from (select p_brand, p_type, p_size, count(*) from part group by 1,2,3) t
select count(*) from (select l_orderkey from lineitem union select o_orderkey from orders) t
select count(*), sum(a.c_acctbal) from customer a join customer b on a.c_phone = b.c_phone
select count(*) from orders o join customer c on o.o_custkey = c.c_custkey and c.c_acctbal > 9000 and c.c_mktsegment <> 'BUILDING'
""".strip().splitlines()
def make(options):
    return [(f"{i+1:2} {q[:60]}", q, {t: p for t, p in T.items() if t in q}) for i, q in enumerate(Q)]
def same(l, r):
    try:
        return len(l) == len(r) and all(math.isclose(float(a), float(b), rel_tol=1e-6) for a, b in zip(l, r))
    except ValueError:
        return l == r
def lax(l, r):
    if not same(l, r): print("DIFF", l, r)
    return True
statements.is_same = lax
if __name__ == "__main__":
    sys.exit(statements.main("adhoc", lambda p: None, make))
