"""A real Chromium on the real page: opens it, calls, and reads what the page shows and what its loudspeaker played."""

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from omnitalk import bench
from omnitalk.bench.chromium import FLAGS, executable
from playwright.sync_api import Error, Page, sync_playwright

from .network import Place
from .speech import Samples

HERE = Path(__file__).parent
EAR = Path(bench.__file__).parent / "ear.js"


_REPORT = """() => {
  const session = document.querySelector('omnitalk-call')?.session;
  if (!session) return document.body.innerText.slice(0, 2000);
  const telling = ['state', 'response_id', 'reason', 'played_ms', 'to', 'why', 'code'];
  const told = ({ at, direction, type, event }) => {
    const parts = telling.map((key) => event?.[key]).filter((value) => value !== undefined);
    return [at, direction, type, ...parts].join(' ');
  };
  const { phase, activity, transport, endReason, error } = session.state;
  const quiet = ['response.output_audio.delta', 'session.heartbeat', 'session.heartbeat_ack'];
  const events = (window.everything ?? [...session.events]).filter((entry) => !quiet.includes(entry.type)).slice(-150).map(told);
  const lines = session.transcript.map((line) => `${line.role}: ${line.text}`);
  return [JSON.stringify({ phase, activity, transport, endReason, error }), ...lines, ...events].join('\\n');
}"""


@dataclass
class Heard:
    """What the loudspeaker played: ``samples`` at ``rate`` Hz from ``first_frame`` of the audio clock, and (frame, epoch ms) marks."""

    samples: Samples
    rate: int
    first_frame: int
    wall: list[tuple[int, float]]

    def at_16k(self) -> Samples:
        """For a recogniser."""
        return np.asarray(soxr.resample(self.samples, self.rate, 16_000), dtype=np.float32)

    def frame_at(self, epoch_ms: float) -> int:
        """Index into ``samples`` of what was rendered at a moment of the wall clock (interpolated between marks)."""
        frames, moments = zip(*self.wall, strict=True)
        return int(np.interp(epoch_ms, moments, frames)) - self.first_frame


class Caller:
    """A person at the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.console: list[str] = []
        page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.console.append(f"pageerror: {error}"))

    @property
    def errors(self) -> list[str]:
        """What the console complained about."""
        return [line for line in self.console if line.startswith(("error", "pageerror"))]

    def call(self) -> None:
        """Presses *Call* and waits until the call is live."""
        self.page.get_by_role("button", name="Call", exact=True).click()
        self.wait("session?.state.phase === 'live'")
        # The page keeps its last 500 events; a test wants them all.
        self.session(
            "{ window.everything = [...session.events]; session.addEventListener('event', event => window.everything.push(event.detail)); }"
        )

    def session(self, expression: str) -> Any:
        """Evaluates ``session => EXPRESSION`` on the page's live session."""
        return self.page.evaluate(f"(session => {expression})(document.querySelector('omnitalk-call').session)")

    def wait(self, expression: str, timeout_s: float = 30) -> None:
        """Waits until ``session => EXPRESSION`` is true. Polls from outside: the page's policy forbids scripts made of strings."""
        deadline = time.monotonic() + timeout_s
        while not self.session(expression):
            if time.monotonic() > deadline:
                last = self.session("session && session.events.slice(-12).map(entry => entry.type)")
                raise TimeoutError(f"not within {timeout_s} s: {expression}\n  the page's last events: {last}\n  console: {self.errors}")
            self.page.wait_for_timeout(30)

    def report(self) -> None:
        """Prints what the page knew, for whoever reads about a test that failed."""
        try:
            print(self.page.url, self.console[-20:])
            print(self.page.evaluate(_REPORT))
        except Error as problem:
            print(f"the page tells nothing more: {problem}")

    def say(self, samples: Samples, *, wait: bool = True) -> None:
        """Speaks 48 kHz samples into the scripted microphone."""
        pcm = (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
        argument = base64.b64encode(pcm).decode()
        if wait:
            self.page.evaluate("text => window.mouth.say(text)", argument)
        else:
            self.page.evaluate("text => void window.mouth.say(text)", argument)

    def heard(self) -> Heard:
        """All that the page's loudspeaker played so far."""
        records = self.page.evaluate("window.ear.read()")
        record = max(records, key=lambda r: len(r["pcm"]))
        samples = np.frombuffer(base64.b64decode(record["pcm"]), "<i2").astype(np.float32) / np.float32(32768)
        return Heard(
            np.asarray(samples, dtype=np.float32), record["rate"], record["firstFrame"], [(int(f), float(t)) for f, t in record["wallMs"]]
        )

    def transcript(self, role: str) -> list[str]:
        """The page's transcript of one side, oldest first."""
        return [line["text"] for line in self.session("session.transcript") if line["role"] == role]

    def log(self, kind: str) -> list[dict[str, Any]]:
        """Every event of one type since the call began, as the page logged them."""
        return [entry for entry in self.page.evaluate("window.everything") if entry["type"] == kind]

    def shown_transcript(self) -> str:
        """What the page shows to the eye."""
        return self.page.get_by_role("log").inner_text()


@contextmanager
def opened(
    url: str,
    *,
    microphone: Path | None = None,
    scripted_mouth: bool = False,
    ear: bool = True,
    script: str = "",
    place: Place | None = None,
    **context: Any,
) -> Iterator[Caller]:
    """The page at ``url``. ``microphone``: a WAV that Chromium's fake microphone plays once; or a mouth that the test moves.
    ``script``: runs before the page's. ``place``: where the browser is.

    ``ear``: listen to the loudspeaker. The ear is a script of the test's own, which the page's security policy rightly refuses, so the
    policy is off with it; without it the page runs as it does for everybody.
    """
    flags = [*FLAGS, "--autoplay-policy=user-gesture-required"]
    if microphone is not None:
        flags.append(f"--use-file-for-fake-audio-capture={microphone}%noloop")
    with sync_playwright() as playwright:
        program = executable()
        if place is not None:
            program = place.program(program or playwright.chromium.executable_path)
            # A microphone needs HTTPS or localhost, and from there we are neither.
            flags.append(f"--unsafely-treat-insecure-origin-as-secure={'/'.join(url.split('/')[:3])}")
        browser = playwright.chromium.launch(executable_path=program, args=flags, ignore_default_args=["--mute-audio"])
        try:
            page = browser.new_context(permissions=["microphone"], bypass_csp=ear, **context).new_page()
            if ear:
                page.add_init_script(path=EAR)
            if scripted_mouth:
                page.add_init_script(path=HERE / "mouth.js")
            if script:
                page.add_init_script(script)
            caller = Caller(page)
            page.goto(url)
            try:
                yield caller
            except BaseException:
                caller.report()
                raise
            finally:
                # A killed browser says no goodbye, and its line would be kept for it.
                page.goto("about:blank")
        finally:
            browser.close()
