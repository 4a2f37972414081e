//! The queries of TPC-H bind.

use super::{Tables, describe, statement};
use volley_sql::Statement;

fn tables() -> Tables {
    let tables = Tables::default();
    tables.add("region", "r_regionkey BIGINT, r_name VARCHAR, r_comment VARCHAR");
    tables
        .add("nation", "n_nationkey BIGINT, n_name VARCHAR, n_regionkey BIGINT, n_comment VARCHAR");
    tables.add("supplier", "s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_nationkey BIGINT, s_phone VARCHAR, s_acctbal DECIMAL(15,2), s_comment VARCHAR");
    tables.add("part", "p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, p_container VARCHAR, p_retailprice DECIMAL(15,2), p_comment VARCHAR");
    tables.add("partsupp", "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INTEGER, ps_supplycost DECIMAL(15,2), ps_comment VARCHAR");
    tables.add("customer", "c_custkey BIGINT, c_name VARCHAR, c_address VARCHAR, c_nationkey BIGINT, c_phone VARCHAR, c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR, c_comment VARCHAR");
    tables.add("orders", "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(15,2), o_orderdate DATE, o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR");
    tables.add("lineitem", "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INTEGER, l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR");
    tables
}

#[test]
fn all_22_queries_bind() {
    let folder = std::path::Path::new("../tpch/queries");
    for number in 1..=22 {
        let sql = std::fs::read_to_string(folder.join(format!("q{number:02}.sql"))).unwrap();
        match statement(&tables(), &sql) {
            Ok(Statement::Query(_)) => {}
            Ok(other) => panic!("query {number}: {other:?}"),
            Err(error) => panic!("query {number}: {}", describe(&sql, &error)),
        }
    }
}
