"""A model hub on this machine: serves files with Range, and can break off, hang, or serve other bytes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class LocalHub:
    """``files``: path -> bytes. ``break_after``: bytes of body after which the connection is dropped, once. ``hang``: never answer."""

    files: dict[str, bytes]
    break_after: int | None = None
    hang: bool = False
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving_hub(hub: LocalHub) -> Iterator[LocalHub]:
    """Serves ``hub`` on a free port."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.requests.append((self.path, self.headers.get("Range")))
            if hub.hang:
                over.wait(60)
                return
            body = hub.files.get(self.path.split("/resolve/main/")[-1])
            if body is None:
                self.send_error(404)
                return
            start = 0
            if wanted := self.headers.get("Range"):
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                self.send_response(206)
            else:
                self.send_response(200)
            part = body[start:]
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            if hub.break_after is not None:
                part, hub.break_after = part[: hub.break_after], None
                self.wfile.write(part)
                self.wfile.flush()
                self.close_connection = True
                return
            # Slow enough that a second process meets the first one at work.
            for i in range(0, len(part), 4096):
                self.wfile.write(part[i : i + 4096])
                time.sleep(0.002)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
