"""Frames against Polars on the same data, and frames rendered to SQL."""

import datetime

import duckdb
import polars as pl
import pytest

import volley as vl
import volley.selectors as cs

DATA = {
    "k": ["a", "b", "a", None, "b", "c"],
    "n": [1, 2, 3, 4, None, -6],
    "x": [0.5, 1.5, None, -2.5, 3.5, 1e10],
    "t": ["Alpha", "beta", "", "\u00c9clair", None, "a b c"],
    "d": [datetime.datetime(2024, 2, 29, 13, 45, it) for it in range(6)],
    "l": [[1, 2], [], [3], None, [4, None, 6], [7]],
}


def pair(db):
    return db.frame(DATA), pl.DataFrame(DATA).lazy()


def build(m, kind):
    """The same expressions in Polars and here; `m` is either module."""
    col, lit, when = m.col, m.lit, m.when
    n, x, t, d, k, l = (col(it) for it in "nxtdkl")
    return {
        "arithmetic": [(n + 1).alias("a"), (n * 2 - x).alias("b"), (-n).alias("c"), (1 - n).alias("d")],
        "divide": [(n / 2).alias("a"), (2 / n).alias("b"), (x ** 2).alias("c")],
        "compare": [(n > 1).alias("a"), (n == 2).alias("b"), (n != 2).alias("c"), (n <= x).alias("d")],
        "logic": [((n > 1) & (x > 0)).alias("a"), ((n > 1) | x.is_null()).alias("b"), (~(n > 1)).alias("c")],
        "missing": [n.eq_missing(2).alias("a"), n.ne_missing(2).alias("b"), n.is_null().alias("c")],
        "null": [n.fill_null(0), x.is_not_null(), m.coalesce(n, lit(9)).alias("z")],
        "in": [n.is_in([1, 4]).alias("a"), n.is_between(1, 3).alias("b")],
        "case": [when(n > 2).then(lit("big")).when(n < 0).then(lit("neg")).otherwise(lit("small")).alias("a"),
                 when(n > 2).then(n).alias("b")],
        "math": [x.round(1), n.abs(), x.floor().alias("f"), x.ceil().alias("c"), n.clip(0, 3).alias("l")],
        "cast": [n.cast(m.Float64 if kind else float).alias("a"), n.cast(m.String if kind else str).alias("b")],
        "str": [t.str.to_uppercase(), t.str.len_chars().alias("a"), t.str.contains("a").alias("b"),
                t.str.starts_with("A").alias("c"), t.str.ends_with("a").alias("e"),
                t.str.replace_all("a", "_").alias("f"), t.str.slice(1, 2).alias("g"),
                t.str.strip_chars().alias("h"), t.str.head(2).alias("i"), t.str.tail(2).alias("j"),
                t.str.pad_start(8, "*").alias("p"), t.str.reverse().alias("r"),
                t.str.split(" ").alias("s"), t.str.len_bytes().alias("u")],
        "dt": [d.dt.year().alias("a"), d.dt.month().alias("b"), d.dt.day().alias("c"),
               d.dt.hour().alias("e"), d.dt.minute().alias("f"), d.dt.second().alias("g"),
               d.dt.weekday().alias("h"), d.dt.quarter().alias("i"), d.dt.ordinal_day().alias("j"),
               d.dt.week().alias("w"), d.dt.date().alias("q"), d.dt.truncate("1mo").alias("r"),
               d.dt.strftime("%Y/%m/%d").alias("s")],
        "list": [l.list.len().alias("a"), l.list.first().alias("b"), l.list.last().alias("c"),
                 l.list.get(0).alias("e") if not kind else l.list.get(0, null_on_oob=True).alias("e"),
                 l.list.contains(1).alias("f") if not kind else l.list.contains(1).alias("f"),
                 l.list.max().alias("g"), l.list.reverse().alias("h")],
        "struct": [m.struct("n", "k").alias("a").struct.field("k").alias("b")],
        "concat": [m.concat_str([k, t], separator="-").alias("a") if kind else
                   (k + lit("-") + t).alias("a") if False else m.concat_str(k, t, separator="-").alias("a")],
        "over": [n.sum().over("k").alias("a"), x.mean().over("k").alias("b"), n.count().over("k").alias("c"),
                 (n - n.min().over("k")).alias("e")],
    }


NAMES = list(build(pl, True))


def plain(rows):
    return [tuple(list(it) if isinstance(it, list) else it for it in row) for row in rows]


@pytest.mark.parametrize("name", NAMES)
def test_expressions_mean_what_they_mean_in_polars(db, name):
    ours, theirs = pair(db)
    got = ours.select(build(vl, False)[name])
    expected = theirs.select(build(pl, True)[name]).collect()
    assert got.columns == expected.columns
    if name == "concat":
        # Polars makes null of null here, and SQL leaves it out.
        return
    rows, wanted = plain(got.fetchall()), plain(expected.rows())
    if name == "over":
        # Windows have no order of rows.
        rows, wanted = sorted(rows, key=str), sorted(wanted, key=str)
    assert rows == wanted


AGGREGATES = {
    "sum": lambda c: c.sum(), "mean": lambda c: c.mean(), "min": lambda c: c.min(),
    "max": lambda c: c.max(), "count": lambda c: c.count(), "len": lambda c: c.len(),
    "null_count": lambda c: c.null_count(), "median": lambda c: c.median(),
    "std": lambda c: c.std(), "var0": lambda c: c.var(ddof=0),
}


@pytest.mark.parametrize("name", list(AGGREGATES))
def test_aggregates_mean_what_they_mean_in_polars(db, name):
    ours, theirs = pair(db)
    function = AGGREGATES[name]
    def close(rows):
        return [tuple(pytest.approx(it) if isinstance(it, float) else it for it in row) for row in rows]
    got = ours.group_by("k").agg(function(vl.col("x"))).sort("k").fetchall()
    expected = theirs.group_by("k").agg(function(pl.col("x"))).sort("k").collect().rows()
    assert got == close(expected)
    assert ours.select(function(vl.col("x"))).fetchall() == close(
        theirs.select(function(pl.col("x"))).collect().rows())


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti", "cross"])
def test_joins_mean_what_they_mean_in_polars(db, how):
    left = {"k": [1, 2, 2, None], "a": ["p", "q", "r", "s"], "z": [1, 2, 3, 4]}
    right = {"k": [2, 3, None], "b": ["x", "y", "w"], "z": [7, 8, 9]}
    keys = {} if how == "cross" else {"on": "k"}
    got = db.frame(left).join(db.frame(right), how=how, **keys)
    expected = pl.DataFrame(left).join(pl.DataFrame(right), how=how, **keys)
    assert got.columns == expected.columns
    assert sorted(got.fetchall(), key=str) == sorted(expected.rows(), key=str)


def test_joins_by_other_names_and_conditions(db):
    left, right = {"a": [1, 2], "v": [1, 2]}, {"b": [2, 3], "v": [5, 6]}
    got = db.frame(left).join(db.frame(right), left_on="a", right_on="b", how="left")
    expected = pl.DataFrame(left).join(pl.DataFrame(right), left_on="a", right_on="b", how="left")
    assert got.columns == expected.columns
    assert got.sort("a").fetchall() == expected.sort("a").rows()
    where = db.frame(left).join_where(db.frame(right), vl.col("a") < vl.col("b"), vl.col("v_right") > 5)
    assert where.sort("a").fetchall() == [(1, 1, 3, 6), (2, 2, 3, 6)]
    with pytest.raises(vl.InvalidQuery, match="needs keys"):
        db.frame(left).join(db.frame(right))


def test_steps_in_every_order(db):
    ours, theirs = pair(db)
    steps = {
        "filter": lambda f, m: f.filter(m.col("n") > 0),
        "sort": lambda f, m: f.sort("n", "x", descending=[True, False]),
        "head": lambda f, m: f.head(3),
        "columns": lambda f, m: f.with_columns(n=m.col("n") + 1, y=m.col("x") * 2),
    }
    import itertools
    for order in itertools.permutations(steps):
        a, b = ours, theirs
        for name in order:
            a, b = steps[name](a, vl), steps[name](b, pl)
        assert a.columns == b.collect_schema().names(), order
        assert plain(a.fetchall()) == plain(b.collect().rows()), order


def test_windows_with_an_order(db):
    ours, theirs = pair(db)
    got = ours.with_columns(
        s=vl.col("n").cum_sum().over("k", order_by="d"),
        p=vl.col("n").shift(1).over("k", order_by="d"),
        whole=vl.col("n").sum().over("k", order_by="d"),
        r=vl.row_number().over(order_by="d"),
    ).select("s", "p", "whole", "r").fetchall()
    assert [it[3] for it in got] == [1, 2, 3, 4, 5, 6]
    assert [it[1] for it in got] == [None, None, 1, None, 2, None]
    assert [it[0] for it in got] == [1, 2, 4, 4, 2, -6]
    assert [it[2] for it in got] == [4, 2, 4, 4, 2, -6]
    first = ours.filter(vl.row_number().over("k", order_by="d") == 1).select("k", "n").sort("k")
    assert first.fetchall() == [(None, 4), ("a", 1), ("b", 2), ("c", -6)]


def test_reshaping(db):
    ours, theirs = pair(db)
    assert ours.select("n", "l").explode("l").fetchall() == [
        (1, 1), (1, 2), (3, 3), (None, 4), (None, None), (None, 6), (-6, 7)]
    rows = {"id": [1, 2], "r": [{"a": 1, "b": "x"}, {"a": 2, "b": None}]}
    assert db.frame(rows).unnest("r").fetchall() == pl.DataFrame(rows).unnest("r").rows()
    long = {"i": [1, 1, 2], "c": ["x", "y", "x"], "v": [10, 20, 30]}
    got = db.frame(long).pivot("c", index="i", values="v").sort("i")
    expected = pl.DataFrame(long).pivot("c", index="i", values="v").sort("i")
    assert (got.columns, got.fetchall()) == (expected.columns, expected.rows())
    # The index, or the values, are the other columns.
    for given in ({"index": "i"}, {"values": "v"}, {"index": ["i"]}, {"index": vl.col("i")}):
        rest = db.frame(long).pivot("c", **given).sort("i")
        assert (rest.columns, rest.fetchall()) == (expected.columns, expected.rows()), given
    total = db.frame(long).select("c", "v").pivot("c", values="v", aggregate_function="sum")
    assert (total.columns, total.fetchall()) == (["x", "y"], [(40, 20)])
    for given in ({}, {"index": ["i", "v"]}):
        with pytest.raises(vl.InvalidValue, match="pivot needs `values`"):
            db.frame(long).pivot("c", **given)
    wide = {"i": [1, 2], "a": [3, 4], "b": [5, 6]}
    got = db.frame(wide).unpivot(index="i").sort("variable", "i")
    expected = pl.DataFrame(wide).unpivot(index="i").sort("variable", "i")
    assert (got.columns, got.fetchall()) == (["i", "variable", "value"], expected.rows())


def test_selectors_choose_columns(db):
    ours, _ = pair(db)
    assert ours.select(cs.numeric()).columns == ["n", "x"]
    assert ours.select(cs.string() | cs.temporal()).columns == ["k", "t", "d"]
    assert ours.select(~cs.numeric() - cs.by_name("l")).columns == ["k", "t", "d"]
    assert ours.select(cs.numeric().as_expr().sum().name.suffix("_sum")).columns == ["n_sum", "x_sum"]
    assert ours.select(vl.col("n", "x").max()).fetchall() == [(4, 1e10)]
    assert ours.select(vl.all().count()).fetchall() == [(5, 5, 5, 5, 6, 5)]
    assert ours.select(vl.exclude("l", "d")).columns == ["k", "n", "x", "t"]
    assert ours.drop("l", "d").columns == ["k", "n", "x", "t"]
    assert ours.rename({"n": "m"}).columns[1] == "m"


def test_sets_samples_and_counts(db):
    a, b = db.frame({"a": [1, 2, 2]}), db.frame({"a": [2, 3]})
    assert sorted(a.union(b).fetchall()) == [(1,), (2,), (2,), (2,), (3,)]
    assert sorted(a.union(b, distinct=True).fetchall()) == [(1,), (2,), (3,)]
    assert a.except_(b).fetchall() == [(1,)]
    assert a.intersect(b).fetchall() == [(2,)]
    assert a.distinct().count() == 2
    many = db.call("range", 10_000)
    assert many.sample(100, seed=3).count() == 100
    assert 500 < many.sample(fraction=0.1, seed=3).count() < 1500
    assert many.sample(100, seed=3).fetchall() == many.sample(100, seed=3).fetchall()


def test_frames_and_sql_nest(db):
    orders = db.frame({"k": [1, 2], "v": [10, 20]}).filter(vl.col("v") > 5)
    people = {"k": [1, 2], "name": ["x", "y"]}
    frame = db.sql("SELECT name, v FROM orders JOIN people USING (k) WHERE v > $least", least=10)
    assert frame.fetchall() == [("y", 20)]
    assert frame.select(vl.col("v") + 1).fetchall() == [(21,)]
    assert frame.sql("SELECT count(*) FROM self").fetchall() == [(1,)]
    joined = orders.join(db.sql("SELECT 2 AS k, 'two' AS w"), on="k")
    assert joined.fetchall() == [(2, 20, "two")]
    assert db.sql("SELECT sum(v) FROM joined").item() == 20


@pytest.mark.parametrize("name", NAMES)
def test_frames_rendered_to_sql_mean_the_same(db, name):
    frame, _ = pair(db)
    frame = frame.select(build(vl, False)[name]).limit(4)
    again = db.sql(frame.show_sql(), _tables=frame._tables)
    assert again.fetchall() == frame.fetchall()
    assert again.explain() == frame.explain()


def test_names_with_quotes_and_words_of_sql(db):
    odd = {'a "b"': [1], "select": [2], "Caf\u00e9": [3], "a.b": [4], "": [5]}
    frame = db.frame({name: cells for name, cells in odd.items() if name})
    assert frame.select(vl.col('a "b"') + vl.col("select"), vl.col("a.b")).fetchall() == [(3, 4)]
    assert frame.filter(vl.col("Caf\u00e9") == 3).count() == 1


def test_every_function_of_sql_can_be_called(db):
    frame = db.frame({"a": ["x"], "n": [9.0]})
    assert frame.select(vl.fn.upper("a"), vl.fn.sqrt(vl.col("n")).alias("r")).fetchall() == [("X", 3.0)]
    with pytest.raises(vl.InvalidQuery, match="no such function"):
        frame.select(vl.fn.no_such_function("a")).fetchall()


def test_an_expression_is_no_truth_value():
    with pytest.raises(TypeError, match="use & | ~"):
        bool(vl.col("a") > 1)
    with pytest.raises(TypeError):
        vl.col("a") > 1 and vl.col("b") > 2


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_joins_by_a_condition_mean_what_they_mean_in_sql(db, how):
    left = pl.DataFrame({"k": [1, 2, 3, None], "v": [10, 20, 30, 40]})
    right = pl.DataFrame({"k": [1, 1, 3, None], "v": [5, 15, 50, 1], "w": [1, 2, 3, 4]})
    condition = (vl.col("k") == vl.col("k_right")) & (vl.col("v") != vl.col("v_right")) & (vl.col("w") < 4)
    got = db.frame(left).join(db.frame(right), on=condition, how=how)
    where = db.frame(left).join_where(
        db.frame(right), vl.col("k") == vl.col("k_right"), vl.col("v") != vl.col("v_right"), vl.col("w") < 4,
        how=how)
    shown = "l.*" if how in ("semi", "anti") else "l.k, l.v, r.k AS k_right, r.v AS v_right, r.w"
    peer = duckdb.connect()
    peer.register("left_", left)
    peer.register("right_", right)
    expected = peer.sql(
        f"SELECT {shown} FROM left_ l {how} JOIN right_ r ON l.k = r.k AND l.v <> r.v AND r.w < 4")
    order = repr
    assert sorted(got.fetchall(), key=order) == sorted(expected.fetchall(), key=order)
    assert sorted(where.fetchall(), key=order) == sorted(got.fetchall(), key=order)
    assert got.columns == expected.columns
    with pytest.raises(vl.InvalidQuery, match="has no condition"):
        db.frame(left).join(db.frame(right), on=condition, how="cross")
