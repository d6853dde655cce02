"""One socket of one call: the handshake, then two pumps.

The socket knows frames and close codes; everything about the call is asked of the hub and its runner. ``docs/protocol.md`` lists
the handshake, the close codes and the limits.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import structlog
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from omnitalk.call.attachment import Attachment
from omnitalk.call.clock import SystemClock
from omnitalk.engines.base import EngineError
from omnitalk.hub import CallRunner, Detached, Hub
from omnitalk.protocol import binary_codec, client, json_codec
from omnitalk.protocol.base import UNSET, ServerEvent
from omnitalk.protocol.binary_codec import SUBPROTOCOL
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError, error_event
from omnitalk.protocol.server import OmnitalkQueue, SessionHeartbeatAck
from omnitalk.protocol.session import SessionPatch, SessionSettings
from omnitalk.protocol.settings import DUPLEX_DEFAULTS, OPENAI_DEFAULTS, resolve

from .throttle import Throttle
from .uvicorn_socket import ABORT
from .waiting import WaitingRoom

__all__ = ["SocketConfig", "origin_allowed", "serve_socket"]

log = structlog.get_logger("omnitalk.socket")

OK: Final = 1000
GOING_AWAY: Final = 1001
POLICY: Final = 1008
INTERNAL: Final = 1011
TRY_AGAIN: Final = 1013

_CLOSE_CODES: Final[Mapping[str, int]] = {
    "server_shutdown": GOING_AWAY,
    "engine_error": INTERNAL,
    "engine_dead": INTERNAL,
    "backend_lost": INTERNAL,
    "internal_error": INTERNAL,
}
"""By the reason a call ended with; any other is an ordinary end."""

_RETRY_LATER: Final = frozenset({"engine_not_ready", "resource_exhausted", "server_draining"})


class SocketConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``config_timeout_s``: for the first event. ``send_timeout_s``: a reader that takes nothing for so long is cut off (its call waits
    for it as after any lost connection). ``lead_ms``: sound sent ahead of the speaker to pages that report what they play.
    """

    config_timeout_s: float = 10.0
    send_timeout_s: float = 15.0
    lead_ms: float = 8_000.0


class _Refused(Exception):
    """The handshake failed: tell why, then close with the code."""

    def __init__(self, event: ServerEvent, code: int) -> None:
        super().__init__(code)
        self.event, self.code = event, code


def origin_allowed(connection: HTTPConnection, allowed: tuple[str, ...], public_url: str | None = None) -> bool:
    """Whether a page of this origin may open a call here: the server's own host, or one that the operator named.

    Clients that are no browsers send no Origin and are let through: a page cannot forge its absence. ``public_url``: the address that
    the operator gave the page for its socket; a page of that host, on whichever port, is the server's own.
    """
    origin = connection.headers.get("origin")
    if origin is None or "*" in allowed or origin in allowed:
        return True
    page, here = urlsplit(origin), connection.headers.get("host", "").lower()
    if page.netloc.lower() == here:
        return True
    public = urlsplit(public_url or "")
    return public.hostname is not None and public.netloc.lower() == here and page.scheme == "https" and page.hostname == public.hostname


async def serve_socket(
    websocket: WebSocket,
    hub: Hub,
    config: SocketConfig,
    *,
    only_returns: bool = False,
    carries: Callable[[CallRunner, bool], None] | None = None,
) -> None:
    """Serves an accepted-to-be socket from handshake to close. Never raises for what the client does.

    ``only_returns``: a call may be taken up again, and none opened. ``carries`` is told the call, and whether it is a new one.
    """
    socket = _Socket(websocket, hub, config, only_returns=only_returns)
    try:
        await socket.accept()
        runner, attachment = await socket.shake_hands()
    except _Refused as refusal:
        await socket.say(refusal.event)
        await socket.close(refusal.code, "refused")
        return
    except _SlowReader:
        socket.abort()
        return
    except WebSocketDisconnect:
        return
    if carries is not None:
        carries(runner, socket.opened)
    await socket.carry(runner, attachment)


class _SlowReader(Exception):
    """The client takes nothing any more."""


class _Socket:
    def __init__(self, websocket: WebSocket, hub: Hub, config: SocketConfig, *, only_returns: bool) -> None:
        self._websocket, self._hub, self._config, self._only_returns = websocket, hub, config, only_returns
        self.opened = False
        self._binary = False
        self._asked_model: str | None = None
        self._numbered = 0
        self._comes_back = True
        self._throttle = Throttle(SystemClock())
        self._owed = 0

    # -- handshake ------------------------------------------------------------------------------------------------------------

    async def accept(self) -> None:
        offered = self._websocket.scope.get("subprotocols") or []
        chosen = next((name for name in (SUBPROTOCOL, "realtime") if name in offered), None)
        self._binary = chosen == SUBPROTOCOL
        await self._websocket.accept(subprotocol=chosen)

    async def shake_hands(self) -> tuple[CallRunner, Attachment]:
        """Opens or resumes a call as the query and the first event ask. Raises ``_Refused``."""
        query = self._websocket.query_params
        duplex = query.get("duplex")
        if duplex is not None and not _is_yes(duplex):
            message = "This server speaks the duplex Realtime API only: leave the `duplex` query out, or set it to 1."
            raise _Refused(error_event("unsupported", message, param="duplex"), POLICY)
        openai = duplex is None and not self._websocket.url.path.endswith("/duplex")
        # OpenAI's clients never resume: a line kept for one of them is a line kept from somebody else.
        self._comes_back = not openai
        defaults = OPENAI_DEFAULTS if openai else DUPLEX_DEFAULTS
        self._asked_model = query.get("model")
        at_once = not _is_no(query.get("autostart", "")) and not _is_yes(query.get("resume", ""))
        if at_once and (openai or self._asked_model):
            return await self._open(SessionPatch(), defaults, (), announce_settings=False)
        return await self._by_first_event(defaults)

    async def _by_first_event(self, defaults: SessionSettings) -> tuple[CallRunner, Attachment]:
        deadline = asyncio.get_running_loop().time() + self._config.config_timeout_s
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    event = await self._read()
            except TimeoutError:
                message = f"No session.update or session.resume came within {self._config.config_timeout_s:g} s."
                raise _Refused(error_event("config_timeout", message), POLICY) from None
            except ProtocolError as problem:
                await self.say(problem.to_event())
                continue
            try:
                match event:
                    case client.SessionResume():
                        self._comes_back = True
                        return self._resume(event)
                    case client.SessionUpdate():
                        return await self._open(event.session, defaults, (), event_id=event.event_id)
                    case client.SessionHeartbeat():
                        await self.say(SessionHeartbeatAck())
                    case client.SessionClose():
                        raise WebSocketDisconnect(OK)
                    case _:
                        return await self._open(SessionPatch(), defaults, (event,), announce_settings=False)
            except ProtocolError as problem:
                # A first message with a wrong field: said, and the client may try again within its time.
                problem.event_id = problem.event_id or event.event_id
                await self.say(problem.to_event())

    def _resume(self, event: client.SessionResume) -> tuple[CallRunner, Attachment]:
        runner = self._hub.find(event.session_id)
        try:
            if runner is None:
                message = "There is no such call any more: it was ended, or its grace ran out."
                raise ProtocolError("session_resume_expired", message, param="session_id")
            lead_ms = self._config.lead_ms if self._binary else None
            return runner, runner.resume(event.resume_token, event.last_received_server_event_seq, lead_ms=lead_ms)
        except ProtocolError as problem:
            problem.event_id = event.event_id
            raise _Refused(problem.to_event(), POLICY) from None

    async def _open(
        self,
        patch: SessionPatch,
        defaults: SessionSettings,
        first: tuple[AnyClientEvent, ...],
        *,
        announce_settings: bool = True,
        event_id: str | None = None,
    ) -> tuple[CallRunner, Attachment]:
        """Raises ``ProtocolError`` for wrong settings, ``_Refused`` when there is no line to be had."""
        if self._only_returns:
            message = "`resume=1` is for a call that is taken up again: send session.resume, or leave the query out to open a new call."
            raise _Refused(error_event("invalid_session_resume", message, param="resume", event_id=event_id), POLICY)
        if patch.model is not UNSET:
            self._asked_model = str(patch.model)
        settings = resolve(msgspec.structs.replace(patch, model=UNSET), defaults)
        room = WaitingRoom(self._read, self.say, first)
        opening = self._hub.open_call(settings, on_queue=self._tell_place)
        try:
            runner = await room.wait_for(opening)
        except (EngineError, ProtocolError) as problem:
            later = problem.code in _RETRY_LATER
            if not later and problem.code != "internal_error":
                raise ProtocolError(problem.code, problem.message, param=problem.param, event_id=event_id) from None
            event = error_event(problem.code, problem.message, event_id=event_id, retryable=later)
            raise _Refused(event, TRY_AGAIN if later else INTERNAL) from None
        attachment = runner.attach(lead_ms=self._config.lead_ms if self._binary else None, announce_settings=announce_settings)
        for said in room.said_meanwhile:
            self._receive(runner, attachment, said)
        self.opened = True
        return runner, attachment

    async def _tell_place(self, place: OmnitalkQueue) -> None:
        await self.say(place)

    # -- the call ---------------------------------------------------------------------------------------------------------------

    async def carry(self, runner: CallRunner, attachment: Attachment) -> None:
        """Pumps both ways until either side is done, then lets go of the call."""
        reading = asyncio.create_task(self._pump_in(runner, attachment), name="socket in")
        writing = asyncio.create_task(self._pump_out(runner, attachment), name="socket out")
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, writing):
                task.cancel()
            read, wrote = await asyncio.gather(reading, writing, return_exceptions=True)
            runner.detach(attachment)
        gone = WebSocketDisconnect | asyncio.CancelledError
        failed = next(
            (end for end in (read, wrote) if isinstance(end, Exception) and not isinstance(end, gone | Detached | _SlowReader)), None
        )
        if failed is not None:
            log.error("socket_failed", call=runner.call.call_id, exc_info=failed)
            await self.close(INTERNAL, "internal_error")
        elif isinstance(wrote, Detached):
            reason = runner.call.closed if wrote.reason == "session_closed" else wrote.reason
            await self.close(_CLOSE_CODES.get(reason or "", OK), reason or "closed")
        elif isinstance(wrote, _SlowReader):
            log.info("slow_reader", call=runner.call.call_id)
            self.abort()
        # A client that says goodbye (1000), or whose page goes away (1001: a tab closed), means it; any other loss may be the network's.
        hung_up = isinstance(read, WebSocketDisconnect) and read.code in (OK, GOING_AWAY)
        if attachment.ended == "detached" and (hung_up or not self._comes_back):
            await runner.end("client_close" if hung_up else "client_gone")

    async def _pump_in(self, runner: CallRunner, attachment: Attachment) -> None:
        while True:
            try:
                event = await self._read()
            except ProtocolError as problem:
                runner.refuse(attachment, problem)
                continue
            self._receive(runner, attachment, event)

    def _receive(self, runner: CallRunner, attachment: Attachment, event: AnyClientEvent) -> None:
        if isinstance(event, client.SessionUpdate) and event.session.model in (self._asked_model, runner.call.settings.model):
            # Clients repeat the name they opened with; the call knows its model by its real one.
            event.session.model = UNSET
        runner.receive(attachment, event)

    async def _pump_out(self, runner: CallRunner, attachment: Attachment) -> None:
        while True:
            await self.say(await runner.next_event(attachment))

    # -- frames -----------------------------------------------------------------------------------------------------------------

    async def _read(self) -> AnyClientEvent:
        """The client's next event. Raises ``ProtocolError`` for what is none, ``WebSocketDisconnect`` at the end."""
        # Paid for before the next one is taken: whoever gives up waiting here has lost nothing.
        await self._throttle.pay(self._owed)
        self._owed = 0
        message: Mapping[str, Any] = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005), message.get("reason"))
        text, data = message.get("text"), message.get("bytes") or b""
        self._owed = len(data if text is None else text)
        if text is not None:
            return json_codec.decode_client(text)
        if not self._binary:
            raise ProtocolError("bad_event", f"Binary frames need the WebSocket subprotocol {SUBPROTOCOL}; send JSON text.")
        return binary_codec.decode_client(data)

    async def say(self, event: ServerEvent) -> None:
        """Sends one event. Raises ``_SlowReader`` when the client takes nothing, ``WebSocketDisconnect`` when it is gone."""
        if not event.event_id:
            self._numbered += 1
            event.event_id = f"event_h{self._numbered}"
        try:
            async with asyncio.timeout(self._config.send_timeout_s):
                if self._binary and binary_codec.has_blobs(event):
                    await self._websocket.send_bytes(binary_codec.encode_server(event))
                else:
                    await self._websocket.send_text(json_codec.encode_server(event))
        except TimeoutError:
            raise _SlowReader from None
        except RuntimeError:
            raise WebSocketDisconnect(1006) from None

    def abort(self) -> None:
        """Hangs up on a client that cannot even be told: it sees 1006."""
        extension = (self._websocket.scope.get("extensions") or {}).get(ABORT)
        if extension is not None:
            extension["abort"]()

    async def close(self, code: int, reason: str) -> None:
        """Closes the socket; does not wait long for a client that does not answer."""
        if WebSocketState.DISCONNECTED in (self._websocket.client_state, self._websocket.application_state):
            return
        try:
            async with asyncio.timeout(5):
                await self._websocket.close(code, reason[:120])
        except (TimeoutError, RuntimeError, WebSocketDisconnect):
            log.debug("socket_did_not_close_cleanly", code=code)


def _is_yes(word: str) -> bool:
    return word.lower() in ("1", "true", "yes", "on")


def _is_no(word: str) -> bool:
    return word.lower() in ("0", "false", "no", "off")
