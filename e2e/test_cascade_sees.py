"""A language model with eyes behind the embedded cascade is shown the camera; without one the page says that nobody sees."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .support.browser import opened
from .support.film import CAMERA, taken_ms
from .support.server import Server, serving
from .support.speech import say


@contextmanager
def endpoint() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """An OpenAI-compatible endpoint that answers one sentence, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            chunk = {
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": {"content": "I see stripes."}, "finish_reason": "stop"}],
            }
            self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_camera_goes_with_the_turn(tmp_path: Path) -> None:
    with (
        endpoint() as (url, asked),
        serving(tmp_path / "log", "--engine", "cascade", "--llm-base-url", url, "--llm-model", "eyes", "--llm-sees") as server,
        opened(server.url, scripted_mouth=True, script=CAMERA) as caller,
    ):
        caller.call()
        caller.page.get_by_role("button", name="Camera", exact=True).click()
        caller.wait("session.state.pictures?.sentAt")
        caller.say(say("What do you see?"))
        caller.wait("session.transcript.some(line => line.role === 'assistant' && line.final)")
        content = asked[-1]["messages"][-1]["content"]
        assert [part["type"] for part in content] == ["image_url", "text"]
        import base64

        jpeg = base64.b64decode(content[0]["image_url"]["url"].partition(",")[2])
        now = caller.page.evaluate("performance.timeOrigin + performance.now()")
        assert now - 15_000 < taken_ms(jpeg, near_ms=now) < now
        assert caller.session("session.events.filter(entry => entry.type === 'error').length") == 0


def test_without_eyes_there_is_no_camera_and_the_page_says_so(cascade_server: Server) -> None:
    with opened(cascade_server.url, scripted_mouth=True) as caller:
        caller.page.get_by_text("it does not see").first.wait_for()
        caller.call()
        assert caller.page.get_by_role("button", name="Camera", exact=True).count() == 0
