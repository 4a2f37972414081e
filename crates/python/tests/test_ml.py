"""Functions of `volley.ml`, with the values of TorchArrow's documentation and tests."""

import math

import numpy
import pyarrow
import pytest

import volley as vl
from volley import ml
from volley._tensors import TensorBatches, tensor_columns

IDS = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 10, 11, 12]]
SCORES = [[float(it) for it in row] for row in IDS]
MATCHING = [[1, 2, 3], [0, 10], [7, 10, 10], [10, 10, 11, 13]]
MATCHING_SCORES = [[float(it) for it in row] for row in MATCHING]


@pytest.fixture
def ids(db):
    return db.frame({"i": IDS, "s": SCORES, "m": MATCHING, "t": MATCHING_SCORES})


def column(frame, expr):
    return [it for (it,) in frame.select(expr).fetchall()]


def test_hashes_of_ids(db):
    frame = db.frame({"a": list(range(1, 17)), "l": [[it] for it in range(1, 17)]})
    expected = [60, 54, 54, 9, 4, 91, 11, 67, 79, 2, 25, 92, 98, 83, 66, 2]
    assert column(frame, ml.sigrid_hash("a", 0, 100)) == expected
    assert column(frame, ml.sigrid_hash("l", 0, 100)) == [[it] for it in expected]
    assert column(db.frame({"a": [None, 1]}), ml.sigrid_hash("a", 0, 1)) == [None, 0]
    with pytest.raises(vl.InvalidValue, match="greater than 0"):
        ml.sigrid_hash("a", 0, 0)
    with pytest.raises(vl.InvalidValue, match="greater than 0"):
        db.frame({"a": [1]}).select(vl.fn.sigrid_hash("a", 0, vl.col("a") - 1)).fetchall()


def test_buckets(db):
    frame = db.frame({"a": [1.0, 2.0, 2.5, 5.0, 10.0, 11.0, math.nan, None]})
    assert column(frame, ml.bucketize("a", [2.0, 5.0, 10.0])) == [0, 0, 1, 1, 2, 3, 3, None]
    lists = db.frame({"a": [[1, 11], [], None, [5, None]]})
    assert column(lists, ml.bucketize("a", [2.0, 5.0, 10.0])) == [[0, 3], [], None, None]
    for borders in ([], [2.0, 1.0], [1.0, 1.0, 1.0], [1.0, math.nan]):
        with pytest.raises(vl.InvalidValue):
            ml.bucketize("a", borders)
    generator = numpy.random.default_rng(1)
    values, borders = generator.random(3000), sorted(generator.random(50))
    found = column(db.frame({"a": values}), ml.bucketize("a", borders))
    assert found == numpy.searchsorted(borders, values, side="left").tolist()


def test_overlaps(ids):
    assert column(ids, ml.has_id_overlap("i", "m")) == [1.0, 0.0, 1.0, 1.0]
    assert column(ids, ml.get_id_overlap_count("i", "m")) == [3.0, 0.0, 1.0, 3.0]
    assert column(ids, ml.get_max_count("i", "m")) == [3.0, 0.0, 1.0, 3.0]
    similar = [3 / 3, 0.0, 1 / 5, 3 / 5]
    assert column(ids, ml.get_jaccard_similarity("i", "m")) == pytest.approx(similar)


def test_scores(ids):
    assert column(ids, ml.get_score_sum("i", "s", "m", "t")) == [6.0, 0.0, 7.0, 31.0]
    assert column(ids, ml.get_score_min("i", "m", "t")) == [1.0, 0.0, 7.0, 10.0]
    assert column(ids, ml.get_score_max("i", "m", "t")) == [3.0, 0.0, 7.0, 11.0]
    root = math.sqrt
    cosines = [
        1.0, 0.0, 49 / root(49 + 64 + 81) / root(49 + 400),
        (400 + 121) / root(400 + 121 + 144) / root(400 + 121 + 169),
    ]
    found = column(ids, ml.get_cosine_similarity("i", "s", "m", "t"))
    assert found == pytest.approx(cosines, rel=1e-6)


def test_nulls_and_wrong_lengths(db):
    frame = db.frame({"a": [[1, None], None, []], "b": [[1], [1], [1]], "s": [[1.0], [2.0], [3.0]]})
    assert column(frame, ml.has_id_overlap("a", "b")) == [None, None, 0.0]
    assert column(frame, ml.get_score_max("a", "b", "s")) == [None, None, 0.0]
    wrong = db.frame({"a": [[1, 2]], "s": [[1.0]]})
    with pytest.raises(vl.InvalidValue, match="2 ids with 1 scores"):
        column(wrong, ml.get_score_min("a", "a", "s"))
    with pytest.raises(vl.InvalidValue, match="must not all be 0"):
        zero = db.frame({"a": [[1]], "s": [[0.0]]})
        column(zero, ml.get_cosine_similarity("a", "s", "a", "s"))


def test_numbers(db):
    frame = db.frame({"a": [0.25, 4.0, -1.0, None]})
    assert column(frame, ml.clamp("a", 0.0, 1.0)) == [0.25, 1.0, 0.0, None]
    assert column(frame, ml.log("a")) == pytest.approx([math.log(0.25), math.log(4), None, None])
    assert column(frame, ml.boxcox("a", 0.5)) == pytest.approx([-1.0, 2.0, None, None])
    assert column(frame, ml.boxcox("a", 0)) == column(frame, ml.log("a"))
    assert column(frame, ml.logit("a"))[0] == pytest.approx(math.log(0.25 / 0.75))
    same = db.frame({"a": [0.0, 0.0]})
    assert column(same, ml.scale_to_0_1("a")) == [0.5, 0.5]
    assert column(same, ml.scale_to_z_score("a")) == [0.0, 0.0]


def test_lists(db):
    frame = db.frame({"a": [[1, 5, 9], [], None]})
    assert column(frame, ml.firstx("a", 2)) == [[1, 5], [], None]
    assert column(frame, ml.firstx("a", 0)) == [[], [], None]
    assert column(frame, ml.clamp_list("a", 2, 6)) == [[2, 5, 6], [], None]
    assert column(frame, ml.add_score("a", 1)) == [[2, 6, 10], [], None]
    assert column(frame, ml.add_tokens("a", [0])) == [[0, 1, 5, 9], [0], None]
    words = db.frame({"w": ["b", "c", None]})
    assert column(words, ml.lookup_indices("w", ["a", "b"], default=9)) == [1, 9, None]
    assert column(words, ml.one_hot(vl.lit(1), 2)) == [[0.0, 1.0]] * 3
    assert column(words, ml.array_constructor(vl.lit(1), vl.lit(2))) == [[1, 2]] * 3


def tensors(frame):
    return tensor_columns(frame.to_arrow(), numpy.from_dlpack)


def test_columns_are_tensors(db):
    table = pyarrow.table({
        "i": pyarrow.array([1, 2, 3]),
        "f": pyarrow.array([1.5, None, 2.5], pyarrow.float32()),
        "b": [True, False, True],
        "l": [[1, 2], [], [3]],
        "x": pyarrow.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pyarrow.list_(pyarrow.float64(), 2)),
    })
    made = tensors(db.frame(table).filter(vl.col("i") > 1))
    assert made["i"].tolist() == [2, 3]
    assert numpy.isnan(made["f"][0]) and made["f"][1] == 2.5
    assert made["b"].tolist() == [False, True]
    values, offsets = made["l"]
    assert values.tolist() == [3] and offsets.tolist() == [0, 0, 1]
    assert made["x"].tolist() == [[3.0, 4.0], [5.0, 6.0]]
    # Numbers are not copied.
    data = db.frame(table).collect().to_arrow()
    number = tensor_columns(data, numpy.from_dlpack)["i"]
    assert number.ctypes.data == data.column("i").chunk(0).buffers()[1].address
    with pytest.raises(vl.InvalidValue, match="null in the column a"):
        tensors(db.frame({"a": [1, None]}))
    with pytest.raises(vl.InvalidValue, match="cannot become a tensor"):
        tensors(db.frame({"a": ["x"]}))


def batches(frame, readers=1, size=64, buffer=0, seed=1, epoch=0):
    made = TensorBatches(frame, size, buffer, seed, numpy.from_dlpack)
    return [list(made.read(it, readers, epoch)) for it in range(readers)]


@pytest.mark.parametrize("readers", [1, 2, 3])
@pytest.mark.parametrize("buffer", [0, 500])
def test_readers_share_the_rows(db, readers, buffer):
    frame = db.call("range", 5000).select(n="range")
    parts = batches(frame, readers, buffer=buffer)
    numbers = [it for part in parts for batch in part for it in batch["n"].tolist()]
    assert sorted(numbers) == list(range(5000))
    assert all(len(it["n"]) == 64 for part in parts for it in part[:-1])
    if readers > 1:
        assert max(map(len, parts)) - min(map(len, parts)) <= 2


def test_rows_are_mixed_by_seed_and_epoch(db):
    frame = db.call("range", 2000).select(n="range")

    def order(**options):
        return [it for batch in batches(frame, buffer=1000, **options)[0] for it in batch["n"].tolist()]

    first = order()
    assert first != sorted(first)
    assert max(first[:960]) < 1100
    assert order() == first
    assert order(epoch=1) != first
    assert order(seed=2) != first


def test_ragged_lists_stream_as_values_and_offsets(db):
    frame = db.frame({"l": [[it] * (it % 4) for it in range(300)]})
    found = []
    for batch in batches(frame, size=100)[0]:
        values, offsets = batch["l"]
        assert offsets[0] == 0 and offsets[-1] == len(values)
        found += [values[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    assert sorted(found) == sorted([it] * (it % 4) for it in range(300))


def test_torch(db):
    torch = pytest.importorskip("torch")
    frame = db.call("range", 100).select(n="range")
    assert frame.to_torch()["n"].sum().item() == 4950
    data = frame.to_torch_dataset(16, shuffle_buffer=32)
    assert sum(it["n"].sum().item() for it in torch.utils.data.DataLoader(data, batch_size=None)) == 4950
