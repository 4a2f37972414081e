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


def merging(**options):
    """Sum and count of values, and how many states were merged into each."""

    @vl.aggregate("BIGINT", returns="VARCHAR", **options)
    class Parts:
        def __init__(self):
            self.sum, self.rows, self.merged = 0, 0, 0

        def update(self, value):
            self.sum += value or 0
            self.rows += 1

        def merge(self, other):
            self.sum += other.sum
            self.rows += other.rows
            self.merged += other.merged + 1

        def finish(self):
            return f"{self.sum} of {self.rows} rows, {self.merged} merged"

    return Parts


def split(text):
    return [int(it) for it in text.split() if it.isdigit()]


@pytest.mark.parametrize("batch_rows", [1, 3, 1024])
def test_states_merge(batch_rows):
    # A local class, whose states are pickled all the same.
    parts = merging()
    db = vl.connect(threads=2)
    db.sql(f"SET batch_rows = {batch_rows}")
    rows = 300 if batch_rows < 1024 else 400_000
    table = pyarrow.table({"k": [it % 7 for it in range(rows)],
                           "v": [None if it % 11 == 3 else it for it in range(rows)]})
    # Several record batches are several splits, which both threads read.
    frame = db.frame(pyarrow.Table.from_batches(table.to_batches(max_chunksize=rows // 8)))
    made = frame.group_by("k").agg(p=parts("v"), s=vl.col("v").sum(), n=vl.col("v").count())
    assert "python_aggregate" in made.explain() and "list" not in made.explain()
    found = made.fetchall()
    assert len(found) == 7
    for _, text, total, count in found:
        assert split(text)[:2] == [total, count]
    whole = frame.select(parts("v"), vl.col("v").sum(), vl.col("v").count()).fetchall()
    assert split(whole[0][0])[:2] == list(whole[0][1:])
    if rows == 400_000:
        assert any(split(text)[2] for _, text, _, _ in found)


def test_states_of_no_rows_and_of_nulls(db):
    parts = merging()
    frame = db.frame({"k": [1, 1, 2], "v": [5, None, None]})
    assert sorted(frame.group_by("k").agg(p=parts("v")).fetchall()) == [
        (1, "5 of 1 rows, 0 merged"), (2, "0 of 0 rows, 0 merged")]
    assert frame.filter(vl.col("k") > 5).select(parts("v")).item() == "0 of 0 rows, 0 merged"
    with_nulls = merging(nulls=True)
    assert frame.select(with_nulls("v")).item() == "5 of 3 rows, 0 merged"
    db.create_function(parts, "parts")
    assert db.sql("SELECT parts(v) FROM frame").item() == "5 of 1 rows, 0 merged"


def test_states_that_merge_are_window_functions(db):
    rows = [(it % 3, it) for it in range(300)]
    frame = db.frame(rows, schema=["k", "v"])
    made = frame.select("k", "v", p=merging()("v").over("k"))
    sums = {key: sum(v for k, v in rows if k == key) for key in range(3)}
    found = made.fetchall()
    assert len(found) == 300
    assert all(split(text)[:2] == [sums[k], 100] for k, _, text in found)
    db.register("rows_of_keys", frame)
    windowed = "OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)"
    key = merging()._registered()
    states = f"python_function('{key}', python_aggregate('{key}', v) {windowed})"
    found = db.sql(f"SELECT {states}, sum(v) {windowed}, count(v) {windowed} FROM rows_of_keys").fetchall()
    assert all(split(text)[:2] == [total, count] for text, total, count in found)


def test_states_survive_spilling():
    db = vl.connect(threads=2, memory_limit="24MB")
    frame = db.call("range", 60_000).select(k=vl.col("range") % 20_000, v=vl.col("range"))
    made = frame.group_by("k").agg(p=merging()("v"), s=vl.col("v").sum()).fetchall()
    assert len(made) == 20_000
    assert all(split(text)[:2] == [total, 3] for _, text, total in made)


def test_states_that_cannot_be_pickled_or_merge_wrongly(db):
    @vl.aggregate("BIGINT", returns="BIGINT")
    class Locked:
        def __init__(self):
            self.made = (it for it in ())

        def update(self, value):
            pass

        def merge(self, other):
            raise LookupError("no merging")

        def finish(self):
            return 0

    frame = db.frame({"k": [1, 2], "v": [1, 2]})
    with pytest.raises(vl.Error, match="state of the aggregate Locked cannot be pickled"):
        frame.group_by("k").agg(Locked("v")).fetchall()
    with pytest.raises(vl.InvalidQuery, match="no aggregate of Python in this process: none"):
        db.sql("SELECT python_aggregate('none', 1)").fetchall()


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
