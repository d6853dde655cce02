"""The demo within a server's app, and alone beside somebody else's server."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from fastapi import FastAPI

    from .answers import Answers, Preset

__all__ = ["PATH", "Demo", "run_alone"]

log = structlog.get_logger("omnitalk.gradio")

PATH = "/gradio"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Before gradio is imported: it asks for nothing from outside, tells nobody that it runs, and keeps people's recordings where
    no other user of the machine finds them, until the end. What was set for it goes with it: other parts of the process, and programs
    that it starts, read the same environment.
    """
    wanted = {"GRADIO_ANALYTICS_ENABLED": "False"}
    if "HF_HUB_OFFLINE" not in os.environ:
        wanted["HF_HUB_OFFLINE"] = "1"
    with contextlib.ExitStack() as until_the_end:
        if "GRADIO_TEMP_DIR" not in os.environ:
            wanted["GRADIO_TEMP_DIR"] = until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="omnitalk-demo-"))
        before = {name: os.environ.get(name) for name in wanted}
        until_the_end.callback(_restore, before)
        os.environ.update(wanted)
        yield


def _restore(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class Demo:
    """The demo as an ASGI app for ``app.mount``. Gradio takes seconds to import, so it is built for the first person who opens it."""

    def __init__(self, answers: "Answers", presets: "Sequence[Preset]") -> None:
        self._answers, self._presets = answers, presets
        self._building = asyncio.Lock()
        self._life = contextlib.AsyncExitStack()
        self._app: FastAPI | None = None
        self._problem: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Builds it when it is not there, and hands the request on."""
        async with self._building:
            if self._app is None and self._problem is None:
                await self._start()
        app = self._app or JSONResponse({"error": {"code": "demo_failed", "message": self._problem}}, status_code=503)
        await app(scope, receive, send)

    async def _start(self) -> None:
        self._life.enter_context(_quiet())
        try:
            app = await asyncio.to_thread(self._build)
            # What the server's own start would have done for it.
            await self._life.enter_async_context(app.router.lifespan_context(app))
        except Exception:
            log.exception("demo_cannot_start")
            self._problem = "The demo cannot start; the server's log says why."
            return
        self._app = app

    def _build(self) -> "FastAPI":
        import gradio as gr
        from fastapi import FastAPI

        from .page import build, head

        demo = build(self._answers, self._presets, call_base="../")
        options: dict[str, Any] = {"theme": _theme(), "head": head("../")}
        inner = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        gr.mount_gradio_app(inner, demo, path="/", show_error=True, ssr_mode=False, max_file_size="24mb", footer_links=[], **options)
        # Only then does gradio ask whether a file that a request names was uploaded; else anybody could read every file of the server.
        demo.has_launched = True
        return inner

    async def close(self) -> None:
        """With the server."""
        await self._life.aclose()


def run_alone(answers: "Answers", *, host: str, port: int) -> None:
    """Serves the demo until interrupted. Raises ``OSError`` when somebody listens there already."""
    # As Ctrl-C: gradio closes its server, and the files go.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _quiet():
        _serve_alone(answers, host, port)


def _serve_alone(answers: "Answers", host: str, port: int) -> None:
    from .answers import Preset
    from .page import build, head

    demo = build(answers, [Preset("Friendly", "Answer in one or two short sentences.")], call_base=None)
    demo.launch(
        server_name=host,
        server_port=port,
        share=False,
        ssr_mode=False,
        show_error=True,
        max_file_size="24mb",
        footer_links=[],
        theme=_theme(),
        head=head(None),
    )


def _theme() -> Any:
    import gradio as gr

    # The system's own fonts: nothing is fetched from anywhere.
    return gr.themes.Base(
        primary_hue="emerald",
        neutral_hue="stone",
        font=["ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    )
