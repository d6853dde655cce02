"""A bad network: a TCP proxy that can drop every connection, refuse new ones, or swallow everything in silence."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Proxy:
    """Runs on a thread of its own. ``port`` forwards to ``target`` on this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._refusing = False
        self.port = 0
        self.connections = 0

    def cut(self) -> None:
        """Resets every connection and refuses new ones until ``restore``: a cable pulled out."""
        self._do(self._cut)

    def freeze(self) -> None:
        """Forwards nothing and tells nobody until ``restore``: a lift, a tunnel."""
        self._do(self._flowing.clear)

    def restore(self) -> None:
        """The network is back."""
        self._do(self._restore)

    def _do(self, action: Callable[[], None]) -> None:
        def run_and_tell() -> None:
            action()
            done.set()

        done = threading.Event()
        self._loop.call_soon_threadsafe(run_and_tell)
        assert done.wait(5)

    def _cut(self) -> None:
        self._refusing = True
        for writer in self._writers:
            writer.transport.abort()

    def _restore(self) -> None:
        self._refusing = False
        self._flowing.set()

    async def _serve(self, started: threading.Event, stop: asyncio.Event) -> None:
        self._flowing.set()
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await stop.wait()
            self._cut()
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not asyncio.current_task()), return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        self.connections += 1
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))
        finally:
            for each in (writer, back):
                self._writers.discard(each)
                each.close()

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                await self._flowing.wait()
                sink.write(data)
                await sink.drain()
        with contextlib.suppress(OSError, RuntimeError):
            sink.write_eof()


@contextmanager
def proxied(target: int) -> Iterator[Proxy]:
    """A proxy in front of a port."""
    proxy = Proxy(target)
    started = threading.Event()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: proxy._loop.run_until_complete(proxy._serve(started, stop)), name="proxy")
    thread.start()
    assert started.wait(5)
    try:
        yield proxy
    finally:
        proxy._loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        proxy._loop.close()
