"""Memory over many queries."""

import gc

import volley as vl


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_does_not_grow_with_the_number_of_queries():
    db = vl.connect(threads=2)
    numbers = {"a": list(range(100))}

    def calls(count: int) -> None:
        for it in range(count):
            assert db.sql("SELECT ? + 1", it).fetchall() == [(it + 1,)]
            assert db.sql("SELECT sum(a) FROM numbers").to_arrow().num_rows == 1
            assert db.frame(numbers).filter(vl.col("a") > 50).count() == 49

    calls(600)
    gc.collect()
    before = resident_bytes()
    calls(600)
    gc.collect()
    grown = resident_bytes() - before
    assert grown < 8 << 20, f"{grown} bytes"
    del numbers
