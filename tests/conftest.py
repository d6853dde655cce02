"""Rules for every test: nothing may be left behind. A task that outlives its test fails it; warnings of unclosed things are errors."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio


@pytest_asyncio.fixture(autouse=True)
async def no_leaked_tasks(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Fails an async test that leaves tasks running (tasks of session-wide fixtures live on another loop)."""
    if not asyncio.iscoroutinefunction(getattr(request.node, "function", None)):
        yield
        return
    before = asyncio.all_tasks()
    yield
    # One turn of the loop lets tasks that were cancelled in the test's last line end.
    await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() - before if task is not asyncio.current_task() and not task.done()]
    assert not left, f"tasks left running: {[task.get_name() for task in left]}"
    gc.collect()
