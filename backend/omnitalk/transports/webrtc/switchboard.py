"""All peers of a server: takes offers, opens or resumes their calls, and closes what is left when the server stops."""

import asyncio

import msgspec
import structlog

from omnitalk.call.attachment import Attachment
from omnitalk.call.clock import Clock, SystemClock
from omnitalk.hub import CallRunner, Hub
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import SessionResume
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.server import OmnitalkQueue
from omnitalk.protocol.session import SessionPatch
from omnitalk.protocol.settings import DUPLEX_DEFAULTS, OPENAI_DEFAULTS, resolve

from .config import WebRtcConfig
from .inside import NoPortFree, require
from .peer import Peer
from .sdp import read_offer

__all__ = ["Answer", "Switchboard"]

log = structlog.get_logger("omnitalk.webrtc")


class Answer(msgspec.Struct, frozen=True):
    """``sdp``: the answer to the offer. ``call_id``: the call that it belongs to. ``resume_token``: "" when its client may not return."""

    call_id: str
    sdp: str
    resume_token: str = ""


class Switchboard:
    """Raises ``Unsupported`` when the libraries installed are others than those it knows."""

    def __init__(self, hub: Hub, config: WebRtcConfig, *, clock: Clock | None = None) -> None:
        require()
        self._hub, self.config, self._clock = hub, config, clock or SystemClock()
        self._peers: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._peers)

    @property
    def peers(self) -> set["asyncio.Task[None]"]:
        """The tasks that carry one peer each."""
        return set(self._peers)

    async def call(self, offer: str, patch: SessionPatch, *, duplex: bool) -> Answer:
        """A new call for this offer. ``duplex``: our own clients' defaults, and they may come back to it; else OpenAI's.

        Raises ``ProtocolError`` or ``EngineError``: a bad offer or setting, or no line free (nobody waits in line over WebRTC:
        nothing could tell them their place).
        """
        filtered = read_offer(offer)
        asked = None if patch.model is UNSET else str(patch.model)
        settings = resolve(msgspec.structs.replace(patch, model=UNSET), DUPLEX_DEFAULTS if duplex else OPENAI_DEFAULTS)
        runner = await self._hub.open_call(settings, on_queue=_do_not_wait)
        try:
            attachment = runner.attach(lead_ms=self.config.lead_ms, announce_settings=False)
            return await self._connect(runner, attachment, filtered, comes_back=duplex, asked_model=asked)
        except BaseException:
            await runner.end("client_gone")
            raise

    async def resume(self, offer: str, ticket: SessionResume) -> Answer:
        """A live call goes on over this offer. Raises ``ProtocolError``: a bad offer, or a ticket that is not good (any more)."""
        filtered = read_offer(offer)
        runner = self._hub.find(ticket.session_id)
        if runner is None:
            raise ProtocolError("session_resume_expired", "There is no such call any more: it was ended, or its grace ran out.")
        attachment = runner.resume(ticket.resume_token, ticket.last_received_server_event_seq, lead_ms=self.config.lead_ms, plays=True)
        try:
            return await self._connect(runner, attachment, filtered, comes_back=True, asked_model=None)
        except BaseException:
            runner.detach(attachment)
            raise

    async def close(self) -> None:
        """Hangs up on everybody that is left. The calls themselves are the hub's to end."""
        for task in self.peers:
            task.cancel()
        await asyncio.gather(*self.peers, return_exceptions=True)

    async def _connect(
        self, runner: CallRunner, attachment: Attachment, offer: str, *, comes_back: bool, asked_model: str | None
    ) -> Answer:
        peer = Peer(runner, attachment, self.config, self._clock, comes_back=comes_back, asked_model=asked_model)
        try:
            sdp = await peer.answer(offer)
        except NoPortFree as problem:
            await peer.close()
            log.error("no_media_port", problem=str(problem))
            raise ProtocolError("resource_exhausted", "No UDP port is free for the sound of this call.", retryable=True) from None
        except BaseException:
            await peer.close()
            raise
        task = asyncio.create_task(peer.carry(), name=f"peer {runner.call.call_id}")
        self._peers.add(task)
        task.add_done_callback(self._peers.discard)
        return Answer(runner.call.call_id, sdp, attachment.token if comes_back else "")


async def _do_not_wait(place: OmnitalkQueue) -> None:
    message = "Every line is busy. A WebSocket call can wait in line; over WebRTC, try again later."
    raise ProtocolError("resource_exhausted", message, retryable=True)
