//! The statements: the queries of TPC-H, and others with random constants.

use crate::answer_of;
use fastrand::Rng;
use volley::{Result, Session};

/// A query and what it answers.
pub struct Statement {
    pub name: String,
    pub sql: String,
    /// Of its rows, in any order.
    pub answer: u64,
}

/// Queries that reach what TPC-H does not; `{n}` is a random number below 100, a new one each time.
/// Each has one answer: no limit cuts through equal rows, no sum depends on an order.
const TEMPLATES: [(&str, &str); 14] = [
    (
        "large groups",
        "select count(*), sum(n), max(n) from (select l_orderkey, l_suppkey, count(*) n
         from lineitem where l_partkey % 100 <> {n} group by all)",
    ),
    (
        "groups by text",
        "select l_comment, count(*) n, min(l_orderkey) from lineitem where l_linenumber > {n} % 4
         group by 1 having count(*) > 30",
    ),
    (
        "distinct arguments",
        "select l_returnflag, count(distinct l_partkey), count(distinct l_comment)
         from lineitem where l_suppkey % 100 < {n} group by 1",
    ),
    ("distinct", "select count(*) from (select distinct l_partkey, l_suppkey % {n} from lineitem)"),
    (
        "sort",
        "select l_orderkey, l_linenumber, l_comment from lineitem where l_suppkey % 100 >= {n}
         order by l_comment, l_orderkey, l_linenumber limit 5 offset {n}000",
    ),
    (
        "top rows",
        "select o_orderkey, o_comment from orders where o_custkey % 100 <> {n}
         order by o_totalprice desc, o_orderkey limit 20{n}",
    ),
    (
        "ranks",
        "select count(*), max(r), sum(s) from (select rank() over w r, sum(l_quantity) over w s
         from lineitem where l_suppkey % 100 < {n}
         window w as (partition by l_suppkey order by l_shipdate, l_orderkey, l_linenumber))",
    ),
    (
        "neighbors",
        "select sum(d) from (select o_totalprice - lag(o_totalprice) over (partition by o_custkey
         order by o_orderdate, o_orderkey) d from orders where o_orderkey % 100 <> {n})",
    ),
    (
        "self-join",
        "select count(*), sum(a.l_partkey), max(b.l_comment) from lineitem a join lineitem b
         on a.l_orderkey = b.l_orderkey and a.l_linenumber = b.l_linenumber
         where a.l_suppkey % 100 < {n}",
    ),
    (
        "full join",
        "select count(*), sum(o_orderkey), sum(c_custkey) from (select * from orders
         where o_orderkey % 100 < {n}) full join customer on o_custkey = c_custkey + {n}",
    ),
    (
        "inequality",
        "select count(*), min(p_partkey) from (select * from part where p_partkey % 500 = {n})
         join (select * from supplier where s_suppkey % 7 = 1)
         on p_retailprice < s_acctbal and p_size <> s_nationkey",
    ),
    (
        "set operations",
        "select count(*), sum(k) from (select l_partkey k from lineitem where l_suppkey % 100 < {n}
         except select ps_partkey from partsupp where ps_availqty < {n}00
         union all select o_custkey from orders)",
    ),
    (
        "used twice",
        "with t as (select l_suppkey k, sum(l_extendedprice) s from lineitem
         where l_partkey % 100 <> {n} group by 1)
         select count(*), max(a.s - b.s) from t a join t b on a.k = b.k + {n}",
    ),
    ("many rows", "select o_orderkey, o_clerk, o_comment from orders where o_custkey % 100 >= {n}"),
];

/// How many statements each template makes.
const PER_TEMPLATE: usize = 4;

/// The statements, answered one after the other.
pub fn make(session: &Session, seed: u64) -> Result<Vec<Statement>> {
    let mut random = Rng::with_seed(seed);
    let tpch = volley_tpch::QUERIES.iter().enumerate();
    let mut texts: Vec<_> =
        tpch.map(|(at, sql)| (format!("TPC-H {}", at + 1), (*sql).to_owned())).collect();
    for (name, template) in TEMPLATES {
        for number in 0..PER_TEMPLATE {
            texts.push((format!("{name} {number}"), filled(template, &mut random)));
        }
    }
    let answered = |(name, sql): (String, String)| {
        let answer = answer_of(session.sql(&sql)?).map_err(|it| it.at("statement", &name))?;
        Ok(Statement { name, sql, answer })
    };
    texts.into_iter().map(answered).collect()
}

fn filled(template: &str, random: &mut Rng) -> String {
    let mut sql = String::new();
    for (at, part) in template.split("{n}").enumerate() {
        if at > 0 {
            sql.push_str(&random.u32(1..100).to_string());
        }
        sql.push_str(part);
    }
    sql
}
