"""Ways of carrying a call that are measured side by side: which page, where its sound arrives, and what it says about itself."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from omnitalk.engines.echo import Arrival
from omnitalk.media.audio import Samples

__all__ = ["AIORTC_PATH", "STACKS", "Heard", "Stack", "chosen"]

AIORTC_PATH: Final = "/bench/aiortc"
"""Where the comparison of aiortc's own takes offers."""

_OUR_PAGE_IS_LIVE: Final = "document.querySelector('omnitalk-call')?.session?.state.phase === 'live'"
_PAGE_STATS: Final = "document.querySelector('omnitalk-call').session.stats()"
_PLAIN_PAGE_STATS: Final = """window.connection.getStats().then((stats) => {
  const [rtp] = [...stats.values()].filter(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio');
  return (rtp.concealedSamples - rtp.silentConcealedSamples) / 48;
})"""
_PLAIN_PAGE_HOLDS: Final = """window.connection.getStats().then((stats) => {
  const [rtp] = [...stats.values()].filter(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio');
  return (1000 * rtp.jitterBufferDelay) / rtp.jitterBufferEmittedCount;
})"""


class Heard(Protocol):
    """What reached a server, and when: an ``EchoSession`` or an ``EchoedPeer``."""

    keep_sound: bool

    @property
    def arrivals(self) -> Iterable[Arrival]:
        """When each sample came."""

    def heard(self) -> Samples:
        """The samples."""


class Stack(NamedTuple):
    """``live``: JavaScript that is true once it carries. ``missing``: JavaScript for what the loudspeaker lacked so far, in ``unit``.

    ``holds``: JavaScript for what the browser's own jitter buffer holds, ms. ``way``: how a synthetic call comes in beside it.
    ``rate``: Hz of what the server heard. ``theirs``: aiortc as it comes.
    """

    key: str
    name: str
    path: str
    live: str
    missing: str
    unit: str
    way: str
    holds: str = ""
    rate: int = 16_000
    theirs: bool = False


STACKS: Final = (
    Stack(
        "websocket",
        "Omnitalk, WebSocket",
        "/?transport=websocket",
        _OUR_PAGE_IS_LIVE,
        f"{_PAGE_STATS}.then((stats) => stats.underruns)",
        "underruns",
        "websocket",
    ),
    Stack(
        "upstream",
        "page that sends every 200 ms and holds 400 ms",
        "/bench/upstream.html",
        "window.live === true",
        "window.underruns",
        "underruns",
        "websocket",
    ),
    Stack(
        "webrtc",
        "Omnitalk, WebRTC",
        "/?transport=webrtc",
        _OUR_PAGE_IS_LIVE,
        f"{_PAGE_STATS}.then((stats) => stats.concealedMs ?? 0)",
        "ms made up",
        "webrtc",
        holds=f"{_PAGE_STATS}.then((stats) => stats.bufferMs)",
    ),
    Stack(
        "plain",
        "a plain peer connection to Omnitalk",
        "/bench/webrtc.html?calls=/v1/realtime/calls",
        "window.live === true",
        _PLAIN_PAGE_STATS,
        "ms made up",
        "webrtc",
        holds=_PLAIN_PAGE_HOLDS,
    ),
    Stack(
        "aiortc",
        "a plain peer connection to an aiortc echo, default settings",
        f"/bench/webrtc.html?calls={AIORTC_PATH}",
        "window.live === true",
        _PLAIN_PAGE_STATS,
        "ms made up",
        "aiortc",
        holds=_PLAIN_PAGE_HOLDS,
        rate=48_000,
        theirs=True,
    ),
)


def chosen(keys: Sequence[str]) -> list[Stack]:
    """The stacks of these keys, in the order of ``STACKS``; all for none. Raises ``ValueError`` naming one that is unknown."""
    known = {stack.key for stack in STACKS}
    for key in keys:
        if key not in known:
            raise ValueError(f"There is no stack {key!r}; there are {', '.join(sorted(known))}.")
    return [stack for stack in STACKS if not keys or stack.key in keys]
