"""One peer of one call: negotiates, then carries sound and events until either side is done, and leaves nothing behind."""

import asyncio

import structlog
from aiortc import (
    RTCBundlePolicy,
    RTCConfiguration,
    RTCDataChannel,
    RTCIceTransport,
    RTCPeerConnection,
    RTCRtpSender,
    RTCSessionDescription,
)
from aiortc.exceptions import InvalidStateError, OperationError

from omnitalk.call.attachment import Attachment
from omnitalk.call.clock import Clock
from omnitalk.hub import CallRunner, Detached
from omnitalk.media.audio import Samples, encode
from omnitalk.protocol import client, server
from omnitalk.protocol.base import UNSET, ServerEvent
from omnitalk.protocol.client import AnyClientEvent
from omnitalk.protocol.errors import ProtocolError

from .channel import LABEL, ChannelClosed, EventChannel, SlowPeer
from .config import WebRtcConfig
from .ear import EAR_RATE, Ear
from .ice import media_addresses
from .inside import hear_with, path_died, place_sockets, wait_to_be_called
from .mouth import Mouth, Progress
from .opus import FRAME_MS
from .sdp import ask_for_packets_of, publish
from .speaker import Speaker

__all__ = ["Peer"]

log = structlog.get_logger("omnitalk.webrtc")


class Peer:
    """``answer`` once, then ``carry`` once. ``comes_back``: the client may resume the call after a lost connection."""

    def __init__(
        self, runner: CallRunner, attachment: Attachment, config: WebRtcConfig, clock: Clock, *, comes_back: bool, asked_model: str | None
    ) -> None:
        self.runner, self._attachment, self._config = runner, attachment, config
        self._comes_back, self._asked_model = comes_back, asked_model
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self._mouth = Mouth(config.start_ms)
        attachment.take_unplayed = self._mouth.take_unplayed
        self._clock, self._heard_at = clock, -1.0
        self._speaker = Speaker(self._mouth, self._tell, clock, self._quiet_s, waits=self._waits)
        self._ear = Ear(self._hear)
        self._channel: asyncio.Future[EventChannel] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()
        self._ice: RTCIceTransport | None = None
        self._path_died = False
        self._pictures: client.InputAudioBufferAppend | None = None
        self._connection.on("connectionstatechange", self._on_state)
        self._connection.on("datachannel", self._on_channel)

    # -- negotiation ------------------------------------------------------------------------------------------------------

    async def answer(self, offer: str) -> str:
        """The SDP answer. ``offer`` went through ``read_offer``. Raises ``ProtocolError(invalid_offer)``, ``NoPortFree``."""
        connection = self._connection
        transceiver = connection.addTransceiver(self._speaker, "sendrecv")
        transceiver.setCodecPreferences([codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType == "audio/opus"])
        hear_with(transceiver.receiver, self._ear)
        try:
            await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
        except (InvalidStateError, OperationError, ValueError, AttributeError, KeyError, AssertionError) as problem:
            raise ProtocolError("invalid_offer", f"The offer cannot be answered: {problem}", param="sdp") from None
        for other in connection.getTransceivers():
            if other is not transceiver:
                # Nobody would read it: a track that is accepted and not read fills the memory.
                other.direction = "inactive"
                if other.receiver.track is not None:
                    other.receiver.track.stop()
        ice = self._ice = transceiver.receiver.transport.transport
        place_sockets(ice, media_addresses(self._config.addresses, loopback=self._config.loopback), self._config.ports)
        wait_to_be_called(ice)
        await connection.setLocalDescription()
        return publish(ask_for_packets_of(FRAME_MS, connection.localDescription.sdp), self._config.public_address)

    # -- the call ---------------------------------------------------------------------------------------------------------

    async def carry(self) -> None:
        """Pumps until either side is done, then lets go of the call."""
        lost = asyncio.create_task(self._lost.wait(), name="peer lost")
        writing = asyncio.create_task(self._pump_out(), name="peer out")
        try:
            await asyncio.wait({lost, writing}, return_when=asyncio.FIRST_COMPLETED)
            if not lost.done() and isinstance(_outcome(writing), Detached):
                # It was told why; a client that leaves by itself has heard it.
                await asyncio.wait({lost}, timeout=self._config.goodbye_s)
        finally:
            for task in (lost, writing):
                task.cancel()
            await asyncio.gather(lost, writing, return_exceptions=True)
            self.runner.detach(self._attachment)
            await self.close()
        await self._part(_outcome(writing))

    async def close(self) -> None:
        """Lets go of the connection, whatever state it is in. Idempotent."""
        self._channel.cancel()
        self._speaker.stop()
        await self._connection.close()

    async def _part(self, wrote: BaseException | None) -> None:
        call = self.runner.call
        ear, mouth = self._ear, self._mouth
        noted = {
            "rtp_lost": ear.lost,
            "rtp_late": ear.late,
            "speaker_underruns": mouth.underruns,
            "pauses_shortened_ms": mouth.shortened_ms,
        }
        for name, count in noted.items():
            if count:
                call.count(name, count)
        if isinstance(wrote, Exception) and not isinstance(wrote, Detached | ChannelClosed | SlowPeer | TimeoutError):
            log.error("peer_failed", call=call.call_id, exc_info=wrote)
        elif isinstance(wrote, TimeoutError | SlowPeer):
            log.info("peer_unreachable", call=call.call_id, connected=self._channel.done() and not self._channel.cancelled())
        # A peer that closes its end means it; a path that fails may be replaced by another.
        hung_up = self._lost.is_set() and not self._path_died
        if self._attachment.ended == "detached" and (hung_up or not self._comes_back):
            await self.runner.end("client_close" if hung_up else "client_gone")

    async def _pump_out(self) -> None:
        async with asyncio.timeout(self._config.connect_s):
            channel = await asyncio.shield(self._channel)
        try:
            while True:
                event = await self.runner.next_event(self._attachment)
                if isinstance(event, server.ResponseOutputAudioDelta):
                    self._say(event)
                    continue
                self._act_on(event)
                await channel.send(event)
                if isinstance(event, server.ResponseDone):
                    self._mouth.end(event.response_id, done=True)
        except Detached:
            await channel.flush()
            raise

    def _say(self, event: server.ResponseOutputAudioDelta) -> None:
        self._mouth.say(event)
        track = self.runner.call.ledger.get(event.response_id)
        if track is not None and track.done and track.sent_ms >= track.generated_ms - 1.0:
            # A peer that takes over in mid-reply may have its last sound after the events that ended it were told to another.
            self._mouth.end(event.response_id, done=True)

    def _act_on(self, event: ServerEvent) -> None:
        """What an event means for the sound; it is told after it was done."""
        match event:
            case server.ResponseOutputAudioDone():
                self._mouth.end(event.response_id)
            case server.OutputAudioBufferCleared():
                self._mouth.cut(event.response_id)
            case server.OmnitalkDuck():
                self._mouth.fade(event.gain_db, event.ramp_ms)
            case server.OmnitalkUnduck():
                self._mouth.fade(0.0, event.ramp_ms)
            case server.OmnitalkState():
                self._mouth.held = event.state == "held"
            case _:
                pass

    def _tell(self, progress: Progress) -> None:
        self.runner.speaker_moved(
            self._attachment, progress.response_id, progress.played_ms, started=progress.started, stopped=progress.stopped
        )

    def _waits(self, away: bool) -> None:
        self.runner.speaker_waits(self._attachment, away)

    # -- what comes in ----------------------------------------------------------------------------------------------------

    def _quiet_s(self) -> float:
        # A stock client may stop its microphone and go on listening; ours sends silence instead.
        return self._clock.now() - self._heard_at if self._comes_back and self._heard_at >= 0 else 0.0

    def _hear(self, sound: Samples) -> None:
        self._heard_at = self._clock.now()
        event = client.InputAudioBufferAppend(audio=encode(sound, "pcm16"), format="pcm16", sample_rate_hz=EAR_RATE)
        if (pictures := self._pictures) is not None:
            self._pictures = None
            event.video_frames, event.max_slice_nums = pictures.video_frames, pictures.max_slice_nums
        self.runner.receive(self._attachment, event)

    def _receive(self, event: AnyClientEvent) -> None:
        if isinstance(event, client.InputAudioBufferAppend) and not event.audio and event.video_frames is not UNSET:
            # Pictures ride on the microphone's sound; the newest ones, when several came between two pieces of it.
            self._pictures = event
            return
        if isinstance(event, client.SessionUpdate) and event.session.model is not UNSET:
            # OpenAI's browser SDK names its model only now; who named one at the offer may repeat it.
            self._asked_model = self._asked_model or str(event.session.model)
            if event.session.model in (self._asked_model, self.runner.call.settings.model):
                event.session.model = UNSET
        self.runner.receive(self._attachment, event)

    def _refuse(self, problem: ProtocolError) -> None:
        self.runner.refuse(self._attachment, problem)

    def _on_channel(self, channel: RTCDataChannel) -> None:
        if channel.label != LABEL or self._channel.done():
            channel.close()
            return
        # Without events there is no call, whatever becomes of the sound.
        channel.on("close", self._on_gone)
        self._channel.set_result(EventChannel(channel, self._receive, self._refuse, send_s=self._config.send_s))

    def _on_state(self) -> None:
        if self._connection.connectionState in ("failed", "closed"):
            self._on_gone()

    def _on_gone(self) -> None:
        """The first sign of the end says whose doing it is; what follows from it looks the same."""
        if not self._lost.is_set():
            self._path_died = self._connection.connectionState == "failed" or (self._ice is not None and path_died(self._ice))
            self._lost.set()


def _outcome(task: "asyncio.Task[None]") -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None
