"""Tensors and datasets with PyTorch itself. Debian has it as python3-torch; skipped where it is not."""

import pytest

torch = pytest.importorskip("torch")

import pyarrow  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

import volley as vl  # noqa: E402

NUMBERS = {
    "TINYINT": torch.int8, "SMALLINT": torch.int16, "INTEGER": torch.int32, "BIGINT": torch.int64,
    "UTINYINT": torch.uint8, "REAL": torch.float32, "DOUBLE": torch.float64,
}


@pytest.mark.parametrize("rows", [0, 1, 3, 1024, 70_000])
def test_columns_become_tensors_of_their_types(db, rows):
    casts = ", ".join(f"CAST(range % 100 AS {of}) AS c_{of.lower()}" for of in NUMBERS)
    tensors = db.sql(f"SELECT {casts} FROM range({rows})").to_torch()
    for of, dtype in NUMBERS.items():
        tensor = tensors[f"c_{of.lower()}"]
        assert tensor.dtype == dtype
        assert tensor.tolist() == [it % 100 for it in range(rows)]


def test_lists_arrays_booleans_and_nulls(db):
    table = pyarrow.table({
        "f": pyarrow.array([1.5, None, 2.5], pyarrow.float32()),
        "b": [True, False, True],
        "l": [[1, 2], [], [3]],
        "x": pyarrow.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pyarrow.list_(pyarrow.float64(), 2)),
        "d": pyarrow.array([1, 2, 3]).cast(pyarrow.decimal128(21, 2)),
    })
    made = db.frame(table).filter(vl.lit(True)).to_torch()
    assert torch.isnan(made["f"]).tolist() == [False, True, False]
    assert made["b"].tolist() == [True, False, True]
    values, offsets = made["l"]
    assert (values.tolist(), offsets.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    assert made["x"].shape == (3, 2) and made["x"][2].tolist() == [5.0, 6.0]
    assert made["d"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(vl.InvalidValue, match="null in the column a"):
        db.frame({"a": [1, None]}).to_torch()
    with pytest.raises(vl.InvalidValue, match="cannot become a tensor"):
        db.frame({"a": ["x"]}).to_torch()


def test_tensors_share_the_memory_of_results_and_outlive_them(db):
    table = pyarrow.table({"a": list(range(1000))})
    tensor = db.frame(table).collect().to_torch()["a"]
    assert tensor.data_ptr() == table.column("a").chunk(0).buffers()[1].address
    made = [db.sql(f"SELECT range + {it} AS a FROM range(5000)").to_torch()["a"] for it in range(50)]
    assert all(int(it.sum()) == 12_497_500 + 5000 * at for at, it in enumerate(made))


def test_ragged_lists_fit_an_embedding_bag(db):
    made = db.frame({"ids": [[0, 1], [2], []]}).to_torch()
    values, offsets = made["ids"]
    bag = torch.nn.EmbeddingBag(3, 4, mode="sum", include_last_offset=True)
    out = bag(values, offsets)
    assert torch.allclose(out[0], bag.weight[0] + bag.weight[1]) and torch.equal(out[2], torch.zeros(4))


@pytest.fixture
def path(db, tmp_path):
    db.sql("SELECT range AS n, CAST(range AS DOUBLE) / 7 AS x FROM range(20000)").write_parquet(
        str(tmp_path / "rows.parquet"))
    return str(tmp_path / "rows.parquet")


def numbers(loader):
    return [it for batch in loader for it in batch["n"].tolist()]


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_share_the_rows(path, workers, start):
    if workers == 0 and start == "spawn":
        pytest.skip("no processes")
    data = vl.scan(path).filter(vl.col("n") % 2 == 0).to_torch_dataset(100)
    context = start if workers else None
    loader = DataLoader(data, batch_size=None, num_workers=workers, multiprocessing_context=context)
    assert sorted(numbers(loader)) == list(range(0, 20000, 2))


def test_ranks_and_workers_share_the_rows(path):
    found = []
    for rank in range(3):
        data = vl.scan(path).to_torch_dataset(64, rank=rank, world_size=3)
        part = numbers(DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork"))
        assert 6000 < len(part) < 7400
        found += part
    assert sorted(found) == list(range(20000))


def test_a_group_of_processes_tells_the_rank(path, tmp_path):
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_gloo_available()
            if hasattr(distributed, "is_gloo_available") else distributed.is_available()):
        pytest.skip("PyTorch without distributed")
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        data = vl.scan(path).to_torch_dataset(512)
        assert sorted(numbers(DataLoader(data, batch_size=None))) == list(range(20000))
    finally:
        distributed.destroy_process_group()


def test_epochs_are_mixed_in_other_orders(path):
    data = vl.scan(path).to_torch_dataset(100, shuffle_buffer=5000, seed=3)
    first = numbers(DataLoader(data, batch_size=None))
    assert first != sorted(first) and sorted(first) == list(range(20000))
    assert numbers(DataLoader(data, batch_size=None)) == first
    data.set_epoch(1)
    assert numbers(DataLoader(data, batch_size=None)) != first


def test_a_model_learns_from_a_stream(path):
    data = vl.scan(path).select(
        x=(vl.col("x") / 3000).cast("REAL"), y=(vl.col("x") / 1000 + 1).cast("REAL")
    ).to_torch_dataset(500, shuffle_buffer=20000)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for epoch in range(12):
        data.set_epoch(epoch)
        for batch in DataLoader(data, batch_size=None):
            loss = ((model(batch["x"][:, None])[:, 0] - batch["y"]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss.item() < 0.05


def test_an_epoch_takes_constant_memory(path):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096 / 1e6

    data = vl.call("range", 3_000_000).select(n="range", x=vl.col("range") * 2).to_torch_dataset(4096)
    peaks = []
    for _ in range(2):
        most = 0.0
        for at, batch in enumerate(DataLoader(data, batch_size=None)):
            assert len(batch["n"])
            if at % 100 == 0:
                most = max(most, resident())
        peaks.append(most)
    # 48 MB of numbers pass by in an epoch.
    assert peaks[1] - peaks[0] < 30
