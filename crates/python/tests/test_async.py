"""Queries under an event loop."""

import asyncio
import time

import pytest

import volley as vl

LONG = "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE a.i + b.j < 0"


def test_a_frame_is_collected_while_the_loop_goes_on(db):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        clock = asyncio.create_task(tick())
        frame = await db.sql("SELECT sum(i) AS s FROM range(3000000) r(i)").collect_async()
        clock.cancel()
        return frame.item(), ticks

    total, ticks = asyncio.run(main())
    assert total == sum(range(3_000_000))
    assert ticks > 0


def test_batches_come_one_by_one(db):
    async def main():
        seen, rows = 0, 0
        async for batch in db.call("range", 100_000):
            seen += 1
            rows += batch.num_rows
        return seen, rows

    seen, rows = asyncio.run(main())
    assert rows == 100_000
    assert seen > 1


def test_queries_run_next_to_each_other(db):
    async def main():
        frames = [db.sql(f"SELECT {it} AS a").collect_async() for it in range(20)]
        return [it.item() for it in await asyncio.gather(*frames)]

    assert asyncio.run(main()) == list(range(20))


def test_cancelling_the_task_cancels_the_query_and_no_other(db):
    async def main():
        task = asyncio.create_task(db.sql(LONG).collect_async())
        other = asyncio.create_task(db.sql("SELECT sum(i) FROM range(2000000) r(i)").collect_async())
        await asyncio.sleep(0.3)
        task.cancel()
        start = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await other).item(), time.monotonic() - start

    total, waited = asyncio.run(main())
    assert total == sum(range(2_000_000))
    assert waited < 60
    assert db.sql("SELECT 1").item() == 1


def test_a_loop_that_ends_early_stops_the_query(db):
    async def main():
        batches = db.sql("SELECT i FROM range(1000000000) r(i)").__aiter__()
        first = await batches.__anext__()
        await batches.aclose()
        return first.num_rows

    assert asyncio.run(main()) > 0
    assert db.sql("SELECT 1").item() == 1


def test_errors_name_the_line(db):
    async def main():
        await db.frame({"a": [0]}).select(vl.col("b")).collect_async()

    with pytest.raises(vl.InvalidQuery) as raised:
        asyncio.run(main())
    assert raised.value.origin is not None
    assert raised.value.origin[0] == __file__
