"""The 22 queries of TPC-H as frames have the answers of SQL."""

import decimal
import importlib.util
import os
import pathlib

import pytest

import volley as vl

ROOT = pathlib.Path(__file__).parents[3]
#: `volley tpch --scale 0.01` makes it.
DATA = pathlib.Path(os.environ.get("VOLLEY_TPCH", ROOT / "data" / "tpch-sf0.01"))

spec = importlib.util.spec_from_file_location("tpch_frames", ROOT / "bench" / "python" / "tpch.py")
tpch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tpch)

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no data: volley tpch --scale 0.01")


@pytest.fixture(scope="module")
def connection():
    made = vl.connect(threads=2)
    for name in tpch.TABLES:
        made.sql(f"CREATE VIEW {name} AS SELECT * FROM '{DATA / name}.parquet'")
    return made


def same(left, right):
    if isinstance(left, (float, decimal.Decimal)) and isinstance(right, (float, decimal.Decimal)):
        return float(left) == pytest.approx(float(right), rel=1e-9)
    return left == right


@pytest.mark.parametrize("number", range(1, 23))
def test_frames_have_the_answers_of_sql(connection, number):
    ours = tpch.QUERIES[number](tpch.tables(connection, DATA))
    theirs = connection.sql(tpch.sql(number))
    assert list(ours.schema.values()) == list(theirs.schema.values())
    found, expected = ours.fetchall(), theirs.fetchall()
    assert len(found) == len(expected)
    if number in (3, 10, 18):
        # Their order is not total.
        found, expected = sorted(found, key=str), sorted(expected, key=str)
    for left, right in zip(found, expected, strict=True):
        assert all(same(a, b) for a, b in zip(left, right, strict=True)), (left, right)
