"""Worker pools: off the loop, fair, bounded, and gone after close."""

import asyncio
import threading
from functools import partial

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.cascade.workers import WorkerPool


class Gate:
    """Keeps a pool's only thread busy until opened."""

    def __init__(self, pool: WorkerPool) -> None:
        self._entered, self._open = threading.Event(), threading.Event()
        self._job = asyncio.ensure_future(pool.run("gate", self._wait))

    def _wait(self) -> None:
        self._entered.set()
        self._open.wait(10)

    async def shut(self) -> None:
        """Return when the thread is inside."""
        await asyncio.to_thread(self._entered.wait, 10)

    async def open(self) -> None:
        """Let it go."""
        self._open.set()
        await self._job


async def test_calls_take_turns_and_urgent_work_goes_first() -> None:
    pool = WorkerPool("test")
    try:
        gate, order = Gate(pool), list[str]()
        await gate.shut()
        jobs = [
            asyncio.ensure_future(pool.run(key, partial(order.append, name), priority=priority))
            for key, name, priority in [("a", "a1", 1), ("a", "a2", 1), ("a", "a3", 1), ("b", "b1", 1), ("c", "urgent", 0)]
        ]
        await asyncio.sleep(0)
        await gate.open()
        await asyncio.gather(*jobs)
        assert order == ["urgent", "a1", "b1", "a2", "a3"]
    finally:
        await asyncio.to_thread(pool.close)


async def test_a_call_that_asks_for_too_much_is_refused_and_others_are_not() -> None:
    pool = WorkerPool("test", per_key=2)
    try:
        gate = Gate(pool)
        await gate.shut()
        jobs = [asyncio.ensure_future(pool.run("a", lambda: None)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(EngineError) as refused:
            await pool.run("a", lambda: None)
        assert refused.value.code == "resource_exhausted"
        jobs.append(asyncio.ensure_future(pool.run("b", lambda: None)))
        await gate.open()
        await asyncio.gather(*jobs)
    finally:
        await asyncio.to_thread(pool.close)


async def test_a_cancelled_job_that_has_not_begun_never_begins() -> None:
    pool = WorkerPool("test")
    try:
        gate, ran = Gate(pool), list[int]()
        await gate.shut()
        job = asyncio.ensure_future(pool.run("a", lambda: ran.append(1)))
        await asyncio.sleep(0)
        job.cancel()
        await gate.open()
        await pool.run("a", lambda: None)
        assert ran == []
    finally:
        await asyncio.to_thread(pool.close)


async def test_failures_reach_the_caller_and_the_thread_lives_on() -> None:
    pool = WorkerPool("test")
    try:
        with pytest.raises(ZeroDivisionError):
            await pool.run("a", lambda: 1 // 0)
        assert await pool.run("a", lambda: 7) == 7
    finally:
        await asyncio.to_thread(pool.close)


async def test_close_ends_threads_and_drops_what_waits() -> None:
    before = threading.active_count()
    pool = WorkerPool("test", threads=3)
    await asyncio.gather(*(pool.run(key, lambda: None) for key in range(5)))
    await asyncio.to_thread(pool.close)
    # The thread that to_thread used may remain.
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test-")]
    assert threading.active_count() <= before + 1
    with pytest.raises(EngineError):
        await pool.run("a", lambda: None)
