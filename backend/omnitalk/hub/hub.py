"""All calls of a server: who is on, who waits, and how they end when the server does."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Iterator

import msgspec
import structlog

from omnitalk.call.admission import Admission, AdmissionConfig, Ticket
from omnitalk.call.call import Call
from omnitalk.call.clock import Clock, SystemClock
from omnitalk.call.config import CallConfig
from omnitalk.engines.base import Engine, EngineError
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import OmnitalkQueue
from omnitalk.protocol.session import SessionSettings

from .first_sound import WaitHistogram
from .runner import CallRunner

__all__ = ["Hub", "HubConfig"]

log = structlog.get_logger("omnitalk.hub")

_DRAINING = "The server is shutting down; please call again later."

_TOUCH_EVERY_S = 2.0
"""How often a waiting caller's ticket is renewed, and the estimate of its wait refreshed."""


def add_figures(totals: dict[str, float], runner: CallRunner) -> dict[str, float]:
    """The totals with a call's figures added."""
    figures = {
        **runner.call.counters,
        "input_bytes_dropped": runner.commands.dropped_bytes,
        "output_audio_ms_dropped": runner.call.outbox.dropped_audio_ms,
    }
    return {name: totals.get(name, 0.0) + figures.get(name, 0.0) for name in {**totals, **figures}}


class HubConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``slots`` None: as many as the engine can hold. ``queue``: callers that may wait."""

    slots: int | None = None
    queue: int = 16
    call: CallConfig = CallConfig()


class Hub:
    """Opens calls, finds them, ends them."""

    def __init__(self, engine: Engine, config: HubConfig | None = None, *, clock: Clock | None = None) -> None:
        self.engine, self.config = engine, config or HubConfig()
        self._clock = clock or SystemClock()
        slots = min(self.config.slots or engine.capabilities.max_sessions, engine.capabilities.max_sessions)
        self.slots = max(1, slots)
        self.admission = Admission(AdmissionConfig(slots=self.slots, queue=self.config.queue), self._clock)
        self._calls: dict[str, tuple[CallRunner, Ticket]] = {}
        self._moved = asyncio.Event()
        self._closing: str | None = None
        self.opened = 0
        self.ended: dict[str, int] = {}
        self.totals: dict[str, float] = {}
        self.waits = WaitHistogram()

    def __iter__(self) -> Iterator[CallRunner]:
        return iter([runner for runner, _ in self._calls.values()])

    def __len__(self) -> int:
        return len(self._calls)

    def find(self, call_id: str) -> CallRunner | None:
        """The live call of this id."""
        found = self._calls.get(call_id)
        return found[0] if found else None

    async def open_call(
        self, settings: SessionSettings, *, on_queue: Callable[[OmnitalkQueue], Awaitable[None]] | None = None
    ) -> CallRunner:
        """A new call, as soon as a line is free.

        ``on_queue`` is told the caller's place whenever it changes. Cancelling this coroutine leaves the line. Raises ``EngineError``
        or ``ProtocolError``: engine_not_ready, resource_exhausted, server_draining, or what the engine says of the settings.
        """
        health = self.engine.health()
        if not health.ready:
            doing = health.problem or (f"It is still {health.stage}." if health.stage else "It is still starting.")
            raise EngineError("engine_not_ready", f"The model cannot take a call yet. {doing}", kind="server_error", retryable=True)
        ticket = self.admission.request()
        try:
            if ticket.state == "waiting":
                await self._wait(ticket, on_queue)
            self.admission.claim(ticket)
            return await self._open(settings, ticket)
        except BaseException:
            self._release(ticket)
            raise

    async def close(self, reason: str = "server_shutdown") -> None:
        """Takes no new callers, sends the waiting away, ends every call and waits for the last one."""
        self._closing = reason
        self.admission.close(_DRAINING)
        self._announce()
        await asyncio.gather(*(runner.end(reason) for runner in self))

    async def _open(self, settings: SessionSettings, ticket: Ticket) -> CallRunner:
        call_id = f"call_{uuid.uuid4().hex}"
        capabilities = self.engine.capabilities
        settings = msgspec.structs.replace(settings, model=capabilities.model)
        try:
            session = await self.engine.open_session(call_id, settings)
        except EngineError:
            raise
        except Exception:
            log.exception("engine_failed_to_open", call=call_id)
            raise EngineError("internal_error", "The model could not open the call.", kind="server_error") from None
        call = Call(call_id, session.settings, capabilities.wire, clock=self._clock, config=self.config.call)
        runner = CallRunner(call, session, on_end=self._ended, waits=self.waits)
        self._calls[call_id] = (runner, ticket)
        self.opened += 1
        if self._closing is not None:
            # The server began to stop while the model opened the session.
            await runner.end(self._closing)
            raise ProtocolError("server_draining", _DRAINING, retryable=True)
        log.info("call_opened", call=call_id, engine=capabilities.name, live=len(self._calls))
        return runner

    async def _wait(self, ticket: Ticket, on_queue: Callable[[OmnitalkQueue], Awaitable[None]] | None) -> None:
        told: OmnitalkQueue | None = None
        while ticket.state == "waiting":
            self.admission.touch(ticket)
            place = self.admission.place(ticket)
            if on_queue is not None and place != told:
                told = place
                # A copy: the transport stamps what it sends.
                await on_queue(msgspec.structs.replace(place))
            moved = self._moved
            if ticket.state == "waiting":
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TOUCH_EVERY_S):
                        await moved.wait()
        if ticket.state == "gone":
            raise ProtocolError("server_draining", _DRAINING, retryable=True)

    def _ended(self, runner: CallRunner) -> None:
        _, ticket = self._calls.pop(runner.call.call_id)
        reason = runner.call.closed or "unknown"
        self.ended[reason] = self.ended.get(reason, 0) + 1
        self.totals = add_figures(self.totals, runner)
        self._release(ticket)
        log.info("call_ended", call=runner.call.call_id, reason=reason, live=len(self._calls))

    def figures(self) -> dict[str, float]:
        """What happened in calls so far, live ones included, by kind."""
        totals = dict(self.totals)
        for runner in self:
            totals = add_figures(totals, runner)
        return totals

    def _release(self, ticket: Ticket) -> None:
        self.admission.release(ticket)
        self._announce()

    def _announce(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
