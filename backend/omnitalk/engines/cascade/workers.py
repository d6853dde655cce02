"""Threads for the model stages: bounded, fair between calls, urgent work first.

The event loop only hands work over and takes results back. Each stage has a pool of its own, so a long reply being written never delays
a voice-activity frame.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from omnitalk.engines.base import EngineError

__all__ = ["WorkerPool"]

T = TypeVar("T")


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    call: Callable[[], Any]


class WorkerPool:
    """``threads`` daemon threads over one queue for every (priority, key).

    A lower priority number goes first; within a priority, keys (calls) take turns, and each key keeps its order. A key that has ``per_key``
    jobs waiting is refused more with ``EngineError`` (``resource_exhausted``).
    """

    def __init__(self, name: str, threads: int = 1, per_key: int = 16) -> None:
        self.name, self._per_key = name, per_key
        self._lanes: dict[int, OrderedDict[Hashable, deque[_Job]]] = {}
        self._ready = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{index}", daemon=True) for index in range(threads)]
        for thread in self._threads:
            thread.start()

    async def run(self, key: Hashable, call: Callable[[], T], *, priority: int = 0) -> T:
        """The call's result, made on one of the threads. Cancelling the wait also drops a job that has not begun."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._ready:
            if self._closed:
                raise EngineError("session_closed", f"The {self.name} stage has stopped.", kind="server_error")
            lane = self._lanes.setdefault(priority, OrderedDict())
            jobs = lane.setdefault(key, deque())
            if len(jobs) >= self._per_key:
                raise EngineError(
                    "resource_exhausted",
                    f"The {self.name} stage already has {len(jobs)} jobs of this call waiting; send less at once.",
                    kind="rate_limit_error",
                    retryable=True,
                )
            jobs.append(_Job(loop, future, call))
            self._ready.notify()
        return await future

    def waiting(self) -> int:
        """Jobs that have not begun."""
        with self._ready:
            return sum(len(jobs) for lane in self._lanes.values() for jobs in lane.values())

    def close(self) -> None:
        """Finish what runs, drop what waits, and end the threads. Blocks until they are gone: call it off the event loop."""
        with self._ready:
            self._closed = True
            jobs = [job for lane in self._lanes.values() for queue in lane.values() for job in queue]
            self._lanes.clear()
            self._ready.notify_all()
        for job in jobs:
            _post(job, _cancel)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if job.future.cancelled():
                continue
            try:
                result = job.call()
            except Exception as error:
                _post(job, partial(_fail, error))
            else:
                _post(job, partial(_succeed, result))
            # Nothing of a call may stay referenced by an idle thread.
            del job

    def _next(self) -> _Job | None:
        with self._ready:
            while True:
                if self._closed:
                    return None
                for priority in sorted(self._lanes):
                    lane = self._lanes[priority]
                    if not lane:
                        continue
                    key, jobs = lane.popitem(last=False)
                    job = jobs.popleft()
                    if jobs:
                        lane[key] = jobs  # at the end: the other calls' turn
                    return job
                self._ready.wait()


def _succeed(result: Any, future: "asyncio.Future[Any]") -> None:
    future.set_result(result)


def _fail(error: Exception, future: "asyncio.Future[Any]") -> None:
    future.set_exception(error)


def _cancel(future: "asyncio.Future[Any]") -> None:
    future.cancel()


def _post(job: _Job, settle: Callable[["asyncio.Future[Any]"], object]) -> None:
    """Settle the job's future on its own loop, unless the waiter or the loop has gone."""
    if job.loop.is_closed():
        return
    job.loop.call_soon_threadsafe(lambda: None if job.future.done() else settle(job.future))
