"""Aggregates and table functions of Python."""

import math

import pyarrow
import pytest

import volley as vl


@vl.aggregate("DOUBLE", returns="DOUBLE")
class GeometricMean:
    def __init__(self):
        self.logarithms, self.count = 0.0, 0

    def update(self, value):
        self.logarithms += math.log(value)
        self.count += 1

    def finish(self):
        return math.exp(self.logarithms / self.count) if self.count else None


def test_groups_have_a_state_each(db):
    rows = [(it % 10, float(it + 1), None if it % 3 else 2.0) for it in range(5000)]
    frame = db.frame(rows, schema=["k", "v", "w"])
    made = frame.group_by("k").agg(g=GeometricMean("v"), h=GeometricMean("w"), n=vl.len()).sort("k")
    for key, mean, other, count in made.fetchall():
        values = [v for k, v, _ in rows if k == key]
        assert mean == pytest.approx(math.exp(sum(map(math.log, values)) / len(values)))
        assert other == pytest.approx(2.0)
        assert count == 500
    assert "GeometricMean (aggregate " in made.explain()


def test_all_rows_and_no_rows(db):
    frame = db.frame({"v": [2.0, 8.0, None]})
    assert frame.select(GeometricMean("v")).item() == pytest.approx(4.0)
    assert frame.filter(vl.col("v") > 100).select(GeometricMean("v")).fetchall() == [(None,)]


def test_several_arguments_and_nulls(db):
    @vl.aggregate(returns=str, nulls=True)
    class Pairs:
        def __init__(self):
            self.seen = []

        def update(self, a, b):
            self.seen.append(f"{a}{b}")

        def finish(self):
            return ",".join(sorted(self.seen))

    frame = db.frame({"a": ["x", None], "b": [1, 2]})
    assert frame.select(Pairs("a", "b").alias("p")).fetchall() == [("None2,x1",)]
    db.create_function(Pairs, "pairs")
    assert db.sql("SELECT pairs(a, b) FROM (VALUES ('q', 1), ('r', 2)) t(a, b)").item() == "q1,r2"


def test_an_aggregate_that_raises_is_an_error_of_the_query(db):
    @vl.aggregate("BIGINT", returns="BIGINT")
    class Fails:
        def update(self, value):
            raise LookupError(f"no entry for {value}")

        def finish(self):
            return 0

    with pytest.raises(vl.InvalidValue, match="LookupError in Python: no entry for 1"):
        db.frame({"a": [1]}).select(Fails("a")).fetchall()
    with pytest.raises(vl.InvalidQuery, match="has no method finish"):
        vl.aggregate(returns=int)(type("Half", (), {"update": lambda self, x: None}))
    with pytest.raises(vl.InvalidQuery, match="takes 1 arguments, not 2"):
        Fails("a", "b")


def test_generators_are_tables(db):
    @vl.table_function(returns={"n": "BIGINT", "s": "VARCHAR"})
    def numbers(start, end):
        for it in range(start, end):
            yield {"n": [it, it], "s": [str(it), None]}

    frame = numbers.frame(db, 3, 6)
    assert frame.schema == {"n": "BIGINT", "s": "VARCHAR"}
    assert frame.filter(vl.col("s").is_not_null()).select("s").fetchall() == [("3",), ("4",), ("5",)]
    assert frame.count() == 6
    db.create_function(numbers)
    assert db.sql("SELECT sum(n) FROM numbers(1, 4)").item() == 12
    assert db.sql("SELECT count(*) FROM numbers(0, 2) a JOIN numbers(0, 2) b USING (n)").item() == 8


def test_the_first_table_tells_the_types(db):
    opened = []

    @vl.table_function
    def squares(end):
        opened.append(end)
        for it in range(end):
            yield pyarrow.table({"n": [it], "square": [it * it]})

    db.create_function(squares)
    assert db.sql("SELECT square FROM squares(4)").fetchall() == [(0,), (1,), (4,), (9,)]
    frame = squares.frame(db, 3)
    assert frame.fetchall() == frame.fetchall()
    with pytest.raises(vl.InvalidQuery, match="no rows that tell its columns"):
        squares.frame(db, 0).fetchall()


def test_a_generator_that_raises_is_an_error_of_the_query(db):
    @vl.table_function(returns={"n": "BIGINT"})
    def broken():
        yield {"n": [1]}
        raise RuntimeError("the source is gone")

    with pytest.raises(vl.InvalidValue, match="the source is gone"):
        broken.frame(db).fetchall()
    with pytest.raises(vl.InvalidQuery, match="no table function of Python"):
        db.sql("FROM python_table('none')").fetchall()
