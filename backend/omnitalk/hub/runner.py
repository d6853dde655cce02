"""The shell of one call: pumps a ``Call`` between whoever is attached and an ``EngineSession``, and keeps its timers.

Three tasks live here and nowhere else: engine events in, commands out, time. They end with the call, whichever side ends it.
"""

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from omnitalk.call.attachment import Attachment
from omnitalk.call.call import Call
from omnitalk.engines.base import Command, EngineError, EngineSession, Interrupt
from omnitalk.protocol.base import ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import ResponseOutputAudioDelta

from .commands import CommandQueue
from .first_sound import FirstSound, WaitHistogram

__all__ = ["CallRunner", "Detached"]

log = structlog.get_logger("omnitalk.call")

_CLOSE_PATIENCE_S = 10.0
"""How long an engine session may take to end before it is left behind (and said so)."""


class Detached(Exception):
    """Nothing more comes for this attachment: ``session_replaced``, ``session_closed`` or ``detached``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CallRunner:
    """A live call. ``on_end`` is called once, when the engine session is closed and nothing of the call is left."""

    def __init__(
        self, call: Call, session: EngineSession, *, on_end: Callable[["CallRunner"], None], waits: WaitHistogram | None = None
    ) -> None:
        self.call, self._session, self._on_end = call, session, on_end
        self._first_sound = FirstSound(call.clock, waits or WaitHistogram())
        self.commands = CommandQueue()
        self._changed = asyncio.Event()
        self._main = asyncio.create_task(self._run(), name=f"call {call.call_id}")

    # -- what transports use ----------------------------------------------------------------------------------------------

    def attach(self, *, lead_ms: float | None = None, announce_settings: bool = True) -> Attachment:
        """The call's first socket. Raises ``ProtocolError`` the second time."""
        attachment = self.call.attach(lead_ms=lead_ms, announce_settings=announce_settings)
        self._step()
        return attachment

    def resume(self, token: str, last_seq: int, *, lead_ms: float | None = None, plays: bool = False) -> Attachment:
        """A socket that returns. Raises ``ProtocolError``: invalid_resume_token, session_resume_expired, session_resume_conflict."""
        attachment = self.call.resume(token, last_seq, lead_ms=lead_ms, plays=plays)
        self.call.count("resumes")
        self._step()
        return attachment

    def receive(self, attachment: Attachment, event: AnyClientEvent) -> None:
        """An event of this socket's client. What a replaced socket still says is ignored."""
        if attachment is self.call.attachment:
            self.call.client_event(event)
            self._step()

    def refuse(self, attachment: Attachment, problem: ProtocolError) -> None:
        """Something of this socket's client that could not be decoded."""
        if attachment is self.call.attachment:
            self.call.refuse(problem)
            self._step()

    def speaker_moved(
        self, attachment: Attachment, response_id: str, played_ms: float, *, started: bool = False, stopped: bool = False
    ) -> None:
        """A transport that plays the sound itself says how much of what it was given it has played."""
        self.call.speaker_moved(attachment, response_id, played_ms, started=started, stopped=stopped)
        self._step()

    def speaker_waits(self, attachment: Attachment, away: bool) -> None:
        """A transport that plays the sound itself plays nothing while its listener is out of reach."""
        self.call.speaker_waits(attachment, away)
        self._step()

    async def next_event(self, attachment: Attachment) -> ServerEvent:
        """The next event for this socket; waits for it. Raises ``Detached`` when there will be none."""
        while True:
            changed = self._changed
            event = self.call.next_event(attachment)
            if event is not None:
                if isinstance(event, ResponseOutputAudioDelta):
                    # Sound on its way moves the call's deadlines: when it will have been heard, when more may follow.
                    self._step()
                return event
            if attachment.ended is not None:
                raise Detached(attachment.ended)
            await changed.wait()

    def detach(self, attachment: Attachment) -> None:
        """This socket is gone; the call waits for it to return."""
        self.call.detach(attachment)
        self._step()

    async def end(self, reason: str, message: str | None = None) -> None:
        """Ends the call and waits until nothing of it is left."""
        self.call.close(reason, message=message)
        self._step()
        await self.wait_ended()

    def when_over(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when nothing of the call is left."""
        self._main.add_done_callback(lambda _: then())

    async def wait_ended(self) -> None:
        """Returns when nothing of the call is left."""
        await asyncio.wait({self._main})

    # -- the pumps ----------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """After anything happened to the call: hands its commands on and wakes whoever waits for it."""
        for command in self.call.take_commands():
            if isinstance(command, Interrupt):
                self.call.count(f"interruptions_{command.reason}")
            for given_up in self.commands.put(command):
                self.call.command_refused(
                    given_up, "input_backpressure", "The model does not keep up; this event was given up.", retryable=True
                )
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _run(self) -> None:
        pumps = [
            asyncio.create_task(self._pump_events(), name=f"events {self.call.call_id}"),
            asyncio.create_task(self._pump_commands(), name=f"commands {self.call.call_id}"),
            asyncio.create_task(self._keep_time(), name=f"timers {self.call.call_id}"),
        ]
        try:
            # The timer task returns when the call is closed, from whichever side; a pump that fails closes it.
            await pumps[2]
        except Exception:
            log.exception("timers_failed", call=self.call.call_id)
            self._fail("internal_error", "The session failed inside the server.")
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            await self._close_session()
            self._on_end(self)

    async def _close_session(self) -> None:
        try:
            async with asyncio.timeout(_CLOSE_PATIENCE_S):
                await self._session.close(self.call.closed or "server_shutdown")
        except TimeoutError:
            log.error("engine_session_does_not_close", call=self.call.call_id)
        except Exception:
            log.exception("engine_session_failed_to_close", call=self.call.call_id)

    async def _pump_events(self) -> None:
        try:
            async for event in self._session.events():
                self._first_sound.see(event)
                self.call.engine_event(event)
                self._step()
            self._fail("engine_error", "The model ended the session.")
        except Exception:
            log.exception("engine_events_failed", call=self.call.call_id)
            self._fail("internal_error", "The session failed inside the server.")

    async def _pump_commands(self) -> None:
        while True:
            command = await self.commands.get()
            try:
                await self._session.submit(command)
            except EngineError as problem:
                self._refused(command, problem)
            except Exception:
                log.exception("engine_command_failed", call=self.call.call_id, command=type(command).__name__)
                self._fail("internal_error", "The session failed inside the server.")
                return

    def _refused(self, command: Command, problem: EngineError) -> None:
        self.call.command_refused(
            command, problem.code, problem.message, param=problem.param, kind=problem.kind, retryable=problem.retryable
        )
        self._step()

    async def _keep_time(self) -> None:
        while self.call.closed is None:
            changed = self._changed
            deadline = self.call.next_deadline()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if deadline is None else max(0.0, deadline - self.call.clock.now())):
                    await changed.wait()
            deadline = self.call.next_deadline()
            if deadline is not None and deadline <= self.call.clock.now():
                self.call.tick()
                self._step()

    def _fail(self, code: str, message: str) -> None:
        if self.call.closed is None:
            self.call.close(code, message=message)
            self._step()
