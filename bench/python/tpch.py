"""The 22 queries of TPC-H as frames. Each function takes an object with a frame per table.

The answers are those of `crates/tpch/queries`, which `crates/python/tests/test_tpch.py` checks.
"""

import datetime
import pathlib
import types

import volley as vl
from volley import col, lit, when

TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
SQL_FOLDER = pathlib.Path(__file__).parents[2] / "crates" / "tpch" / "queries"


def tables(connection, folder):
    """A frame for each table, over the Parquet files of a folder."""
    frames = {it: connection.scan(str(pathlib.Path(folder) / f"{it}.parquet")) for it in TABLES}
    return types.SimpleNamespace(**frames)


def sql(number):
    """The text of a query in SQL."""
    return (SQL_FOLDER / f"q{number:02}.sql").read_text().rstrip().rstrip(";")


def day(text):
    return lit(datetime.date.fromisoformat(text))


def between_days(column, start, end):
    """From a day on, to before another one."""
    return (col(column) >= day(start)) & (col(column) < day(end))


def volume():
    return col("l_extendedprice") * (1 - col("l_discount"))


def q1(t):
    return (
        t.lineitem.filter(col("l_shipdate") <= day("1998-09-02"))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(),
            sum_base_price=col("l_extendedprice").sum(),
            sum_disc_price=volume().sum(),
            sum_charge=(volume() * (1 + col("l_tax"))).sum(),
            avg_qty=col("l_quantity").mean(),
            avg_price=col("l_extendedprice").mean(),
            avg_disc=col("l_discount").mean(),
            count_order=vl.len(),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q2(t):
    offers = (
        t.region.filter(col("r_name") == "EUROPE")
        .join(t.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(t.supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(t.partsupp, left_on="s_suppkey", right_on="ps_suppkey")
    )
    parts = t.part.filter((col("p_size") == 15) & col("p_type").str.like("%BRASS"))
    offered = parts.join(offers, left_on="p_partkey", right_on="ps_partkey")
    best = offered.group_by("p_partkey").agg(least=col("ps_supplycost").min())
    return (
        offered.join(best, on="p_partkey")
        .filter(col("ps_supplycost") == col("least"))
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .limit(100)
    )


def q3(t):
    return (
        t.customer.filter(col("c_mktsegment") == "BUILDING")
        .join(t.orders, left_on="c_custkey", right_on="o_custkey")
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .filter(col("o_orderdate") < day("1995-03-15"), col("l_shipdate") > day("1995-03-15"))
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=volume().sum())
        .select(col("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .limit(10)
    )


def q4(t):
    late = t.lineitem.filter(col("l_commitdate") < col("l_receiptdate"))
    return (
        t.orders.filter(between_days("o_orderdate", "1993-07-01", "1993-10-01"))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(order_count=vl.len())
        .sort("o_orderpriority")
    )


def q5(t):
    return (
        t.region.filter(col("r_name") == "ASIA")
        .join(t.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(t.customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(t.orders, left_on="c_custkey", right_on="o_custkey")
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .filter(between_days("o_orderdate", "1994-01-01", "1995-01-01"))
        .group_by("n_name")
        .agg(revenue=volume().sum())
        .sort("revenue", descending=True)
    )


def q6(t):
    return t.lineitem.filter(
        between_days("l_shipdate", "1994-01-01", "1995-01-01"),
        col("l_discount").is_between(vl.sql_expr("0.05"), vl.sql_expr("0.07")),
        col("l_quantity") < 24,
    ).select(revenue=(col("l_extendedprice") * col("l_discount")).sum())


def q7(t):
    pair = (col("supp_nation") == "FRANCE") & (col("cust_nation") == "GERMANY")
    other = (col("supp_nation") == "GERMANY") & (col("cust_nation") == "FRANCE")
    suppliers = t.supplier.join(
        t.nation.select("n_nationkey", supp_nation="n_name"), left_on="s_nationkey", right_on="n_nationkey")
    customers = t.customer.join(
        t.nation.select("n_nationkey", cust_nation="n_name"), left_on="c_nationkey", right_on="n_nationkey")
    return (
        t.lineitem.filter(between_days("l_shipdate", "1995-01-01", "1997-01-01"))
        .join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(customers, left_on="o_custkey", right_on="c_custkey")
        .filter(pair | other)
        .with_columns(l_year=col("l_shipdate").dt.year())
        .group_by("supp_nation", "cust_nation", "l_year")
        .agg(revenue=volume().sum())
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q8(t):
    american = t.region.filter(col("r_name") == "AMERICA").join(
        t.nation, left_on="r_regionkey", right_on="n_regionkey")
    sellers = t.supplier.join(
        t.nation.select("n_nationkey", nation="n_name"), left_on="s_nationkey", right_on="n_nationkey")
    brazil = when(col("nation") == "BRAZIL").then(volume()).otherwise(0)
    return (
        t.part.filter(col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(sellers, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .filter(between_days("o_orderdate", "1995-01-01", "1997-01-01"))
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .join(american, left_on="c_nationkey", right_on="n_nationkey", how="semi")
        .group_by(o_year=col("o_orderdate").dt.year())
        .agg(mkt_share=brazil.sum() / volume().sum())
        .sort("o_year")
    )


def q9(t):
    return (
        t.part.filter(col("p_name").str.like("%green%"))
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(t.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.partsupp, left_on=["p_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(t.nation, left_on="s_nationkey", right_on="n_nationkey")
        .group_by(nation="n_name", o_year=col("o_orderdate").dt.year())
        .agg(sum_profit=(volume() - col("ps_supplycost") * col("l_quantity")).sum())
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(t):
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return (
        t.customer.join(t.orders, left_on="c_custkey", right_on="o_custkey")
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .filter(between_days("o_orderdate", "1993-10-01", "1994-01-01"), l_returnflag="R")
        .join(t.nation, left_on="c_nationkey", right_on="n_nationkey")
        .group_by(keys)
        .agg(revenue=volume().sum())
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort("revenue", descending=True)
        .limit(20)
    )


def q11(t):
    stock = (
        t.nation.filter(col("n_name") == "GERMANY")
        .join(t.supplier, left_on="n_nationkey", right_on="s_nationkey")
        .join(t.partsupp, left_on="s_suppkey", right_on="ps_suppkey")
        .with_columns(value=col("ps_supplycost") * col("ps_availqty"))
    )
    least = stock.select(least=col("value").sum() * vl.sql_expr("0.0001"))
    return (
        stock.group_by("ps_partkey").agg(value=col("value").sum())
        .join(least, how="cross")
        .filter(col("value") > col("least"))
        .select("ps_partkey", "value")
        .sort("value", descending=True)
    )


def q12(t):
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        t.orders.join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .filter(
            col("l_shipmode").is_in(["MAIL", "SHIP"]),
            col("l_commitdate") < col("l_receiptdate"),
            col("l_shipdate") < col("l_commitdate"),
            between_days("l_receiptdate", "1994-01-01", "1995-01-01"),
        )
        .group_by("l_shipmode")
        .agg(
            high_line_count=when(urgent).then(1).otherwise(0).sum(),
            low_line_count=when(~urgent).then(1).otherwise(0).sum(),
        )
        .sort("l_shipmode")
    )


def q13(t):
    kept = t.orders.filter(~col("o_comment").str.like("%special%requests%"))
    return (
        t.customer.join(kept, left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey").agg(c_count=col("o_orderkey").count())
        .group_by("c_count").agg(custdist=vl.len())
        .sort("custdist", "c_count", descending=True)
    )


def q14(t):
    promo = when(col("p_type").str.like("PROMO%")).then(volume()).otherwise(0)
    return (
        t.lineitem.filter(between_days("l_shipdate", "1995-09-01", "1995-10-01"))
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .select(promo_revenue=vl.sql_expr("100.00") * promo.sum() / volume().sum())
    )


def q15(t):
    revenue = (
        t.lineitem.filter(between_days("l_shipdate", "1996-01-01", "1996-04-01"))
        .group_by("l_suppkey").agg(total_revenue=volume().sum())
    )
    return (
        t.supplier.join(revenue, left_on="s_suppkey", right_on="l_suppkey")
        .join(revenue.select(most=col("total_revenue").max()), how="cross")
        .filter(col("total_revenue") == col("most"))
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(t):
    complaints = t.supplier.filter(col("s_comment").str.like("%Customer%Complaints%"))
    return (
        t.part.filter(
            col("p_brand") != "Brand#45",
            ~col("p_type").str.like("MEDIUM POLISHED%"),
            col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        .join(t.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(supplier_cnt=col("ps_suppkey").n_unique())
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def q17(t):
    sold = t.lineitem.join(
        t.part.filter(p_brand="Brand#23", p_container="MED BOX"), left_on="l_partkey", right_on="p_partkey")
    few = t.lineitem.group_by("l_partkey").agg(few=col("l_quantity").mean() * vl.sql_expr("0.2"))
    return (
        sold.join(few, on="l_partkey")
        .filter(col("l_quantity") < col("few"))
        .select(avg_yearly=col("l_extendedprice").sum() / vl.sql_expr("7.0"))
    )


def q18(t):
    large = (
        t.lineitem.group_by("l_orderkey").agg(quantity=col("l_quantity").sum())
        .filter(col("quantity") > 300)
    )
    return (
        t.orders.join(large, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .group_by("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(quantity=col("l_quantity").sum())
        .select("c_name", col("o_custkey").alias("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "quantity")
        .sort("o_totalprice", "o_orderdate", descending=[True, False])
        .limit(100)
    )


def q19(t):
    def choice(brand, containers, low, most):
        return (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("l_quantity").is_between(low, low + 10)
            & col("p_size").is_between(1, most)
        )

    return (
        t.lineitem.filter(col("l_shipmode").is_in(["AIR", "AIR REG"]), l_shipinstruct="DELIVER IN PERSON")
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .filter(
            choice("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
            | choice("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
            | choice("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
        )
        .select(revenue=volume().sum())
    )


def q20(t):
    sold = (
        t.lineitem.filter(between_days("l_shipdate", "1994-01-01", "1995-01-01"))
        .group_by("l_partkey", "l_suppkey")
        .agg(half=col("l_quantity").sum() * vl.sql_expr("0.5"))
    )
    forest = t.part.filter(col("p_name").str.like("forest%"))
    stocked = (
        t.partsupp.join(forest, left_on="ps_partkey", right_on="p_partkey", how="semi")
        .join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(col("ps_availqty") > col("half"))
    )
    return (
        t.supplier.join(t.nation.filter(n_name="CANADA"), left_on="s_nationkey", right_on="n_nationkey")
        .join(stocked, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(t):
    late = t.lineitem.filter(col("l_receiptdate") > col("l_commitdate"))
    by_others = [col("l_orderkey") == col("l_orderkey_right"), col("s_suppkey") != col("l_suppkey")]
    return (
        t.supplier.join(late, left_on="s_suppkey", right_on="l_suppkey")
        .join(t.orders.filter(o_orderstatus="F"), left_on="l_orderkey", right_on="o_orderkey")
        .join(t.nation.filter(n_name="SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey")
        .join_where(t.lineitem, *by_others, how="semi")
        .join_where(late, *by_others, how="anti")
        .group_by("s_name")
        .agg(numwait=vl.len())
        .sort("numwait", "s_name", descending=[True, False])
        .limit(100)
    )


def q22(t):
    codes = ["13", "31", "23", "29", "30", "18", "17"]
    customers = t.customer.with_columns(cntrycode=col("c_phone").str.slice(0, 2)).filter(
        col("cntrycode").is_in(codes))
    mean = customers.filter(col("c_acctbal") > 0).select(mean=col("c_acctbal").mean())
    return (
        customers.join(mean, how="cross")
        .filter(col("c_acctbal") > col("mean"))
        .join(t.orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(numcust=vl.len(), totacctbal=col("c_acctbal").sum())
        .sort("cntrycode")
    )


QUERIES = {int(name[1:]): it for name, it in list(globals().items()) if name[0] == "q" and name[1:].isdigit()}
