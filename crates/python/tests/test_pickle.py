"""Pickling of expressions and frames."""

import pickle

import pytest

import volley as vl


def trip(value):
    return pickle.loads(pickle.dumps(value))


def test_expressions_survive(db):
    frame = db.frame({"a": [1, 2, 3], "b b": ["x", None, "z"]})
    expressions = [
        vl.col("a"), vl.col("b b"), vl.col("a") * 2 + 1, vl.col("b b").fill_null("?").alias("c"),
        vl.when(vl.col("a") > 1).then(vl.lit("big")).otherwise(vl.lit("small")),
        vl.col("a").cast("VARCHAR").str.len_chars().name.suffix("_len"), vl.lit(7).alias("seven"),
    ]
    for it in expressions:
        plain, back = frame.select(it), frame.select(trip(it))
        assert back.columns == plain.columns
        assert back.fetchall() == plain.fetchall()
    assert frame.select(trip(vl.col("a").sum())).fetchall() == [(6,)]


def test_frames_over_files_survive(db, tmp_path):
    path = str(tmp_path / "t.parquet")
    db.sql("SELECT i AS a, i % 3 AS k FROM range(10) r(i)").write_parquet(path)
    frame = db.scan(path).filter(vl.col("a") > 2).group_by("k").agg(n=vl.len()).sort("k")
    assert trip(frame).fetchall() == frame.fetchall()
    text = db.sql(f"SELECT count(*) FROM '{path}' WHERE a < $top", top=4)
    assert trip(text).fetchall() == [(4,)]
    nested = text.select(vl.col("count_star()") + 1) if "count_star()" in text.columns else text
    assert trip(nested).fetchall() == nested.fetchall()


def test_data_in_memory_and_functions_are_refused(db):
    with pytest.raises(TypeError, match="data in memory cannot be pickled"):
        pickle.dumps(db.frame({"a": [1]}).select("a"))
    function = vl.func(returns=int, way="row")(lambda x: x)
    with pytest.raises(TypeError, match="function of Python cannot be pickled"):
        pickle.dumps(function(vl.col("a")))
