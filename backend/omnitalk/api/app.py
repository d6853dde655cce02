"""Builds the app: routers, static files, and the engine's life around them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib.util import find_spec

import msgspec
import structlog
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from omnitalk.assets import asset_dir
from omnitalk.call.clock import SystemClock
from omnitalk.call.config import CallConfig
from omnitalk.engines.base import Engine, EngineError
from omnitalk.engines.echo import EchoEngine
from omnitalk.hub import Hub, HubConfig
from omnitalk.profiles import load_profiles
from omnitalk.settings import ServeSettings
from omnitalk.transports.websocket import SocketConfig

from . import calls, chat, health, models, page, realtime, speech, transcriptions
from .auth import Guard, KeyFile, Limits
from .compression import PageCompression
from .description import describe
from .doors import Doors
from .forwarded import ForwardedHost, TrustedPeers
from .headers import SecurityHeaders
from .prefix import PathPrefix
from .state import AppState, Loopback
from .static import PageFiles

__all__ = ["create_app"]

log = structlog.get_logger("omnitalk.app")

RETRY_S = 5.0
"""Between two attempts to start an engine whose problem may pass."""

_ECHOES = 4
"""Pages that may measure their way at once: each costs what a call costs, without the model."""

_ECHO_GRACE_S = 2.0


def create_app(settings: ServeSettings, engine: Engine, *, socket: SocketConfig | None = None) -> FastAPI:
    """The app of one server. The engine starts with it, in the background, and stops with it."""
    hub = Hub(engine, HubConfig(slots=settings.max_calls, queue=settings.queue_length, call=CallConfig(grace_s=settings.grace_s)))
    profiles = load_profiles(asset_dir("profiles"))
    state = AppState(settings=settings, hub=hub, profiles=profiles, socket=socket or SocketConfig(), doors=Doors(settings))
    echo = EchoEngine(_ECHOES)
    if settings.loopback:
        state.loopback = Loopback(Hub(echo, HubConfig(slots=_ECHOES, queue=0, call=CallConfig(grace_s=_ECHO_GRACE_S))))
    if settings.webrtc:
        _add_switchboards(state)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.create_task(_start(state), name="engine start")
        await echo.start()
        try:
            yield
        finally:
            for each in state.hubs:
                await each.close()
            for board in state.switchboards:
                await board.close()
            await echo.stop()
            if state.demo is not None:
                await state.demo.close()
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await engine.stop()

    app = FastAPI(title="Omnitalk", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.omnitalk = state
    for part in (health, models, page, realtime, calls, chat, speech, transcriptions):
        app.include_router(part.router)
    describe(app)
    if find_spec("fastapi_swagger") is not None:
        app.mount("/docs/assets", PageFiles(packages=[("fastapi_swagger", "resources")]))
    else:
        log.warning("no_docs", problem="/docs stays empty: pip install fastapi-swagger. /openapi.json is there.")
    app.mount("/shared_ui", PageFiles(directory=asset_dir("shared_ui")))
    app.mount("/profiles", PageFiles(directory=asset_dir("profiles")))
    _add_demo(app, state)
    app.mount("/", PageFiles(directory=asset_dir("web"), html=True))
    app.add_middleware(PageCompression)
    if settings.auth is not None:
        ring = KeyFile(settings.auth.expanduser())
        limits = Limits(SystemClock())
        signin = (asset_dir("web") / "signin.html").read_text()
        origins, public = tuple(settings.allow_origin), settings.public_realtime_url
        app.add_middleware(Guard, keyring=ring, limits=limits, signin=signin, allow_origin=origins, public_url=public)
    app.add_middleware(SecurityHeaders, public_url=settings.public_realtime_url)
    # From the outside in: prefix and host are told by the peer itself, and then the peer is whom the proxy names.
    trusted = TrustedPeers(settings.trusted_proxies)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)
    app.add_middleware(ForwardedHost, trusted=trusted)
    app.add_middleware(PathPrefix, prefix=settings.root_path, trusted=trusted)
    return app


def _add_switchboards(state: AppState) -> None:
    """Calls over WebRTC, when the libraries for them are there; without, the server serves WebSockets and says why."""
    try:
        from omnitalk.transports.webrtc.config import WebRtcConfig
        from omnitalk.transports.webrtc.inside import Unsupported
        from omnitalk.transports.webrtc.switchboard import Switchboard
    except ImportError as problem:
        state.webrtc_problem = f"WebRTC cannot be had: {problem.name} is not installed (pip install 'aiortc==1.16.*' av)."
        log.warning("no_webrtc", problem=state.webrtc_problem)
        return
    settings = state.settings
    profile = state.profiles.get(state.hub.engine.capabilities.profile)
    config = WebRtcConfig(
        addresses=tuple(settings.webrtc_address),
        loopback=settings.host in ("127.0.0.1", "::1", "localhost"),
        ports=settings.media_ports,
        public_address=None if settings.public_address is None else str(settings.public_address),
        start_ms=profile.start_buffer_ms if profile is not None and profile.unit_ms is not None else 0.0,
    )
    try:
        state.switchboard = Switchboard(state.hub, config)
        if state.loopback is not None:
            state.loopback.switchboard = Switchboard(state.loopback.hub, msgspec.structs.replace(config, start_ms=0.0))
    except Unsupported as problem:
        state.webrtc_problem = str(problem)
        log.warning("no_webrtc", problem=state.webrtc_problem)


def _add_demo(app: FastAPI, state: AppState) -> None:
    """The Gradio demo, where it is wanted and installed; else its address says what is missing."""
    capabilities = state.hub.engine.capabilities
    profile = state.profiles.get(capabilities.profile)
    why = "The demo is switched off on this server (--no-gradio)."
    if state.settings.gradio and find_spec("gradio") is None:
        why = "The demo is not installed on this server: pip install 'omnitalk[demo]'."
        log.info("no_demo", problem=why)
    elif state.settings.gradio:
        from omnitalk.gradio_tab.answers import InProcess, Preset
        from omnitalk.gradio_tab.mount import PATH, Demo

        presets = [Preset(each.title, each.instructions) for each in profile.presets] if profile is not None else []
        takes_voice = profile is not None and "voice_reference" in profile.controls
        state.demo = Demo(InProcess(state.hub.engine, state.doors.reader, takes_voice), presets)
        app.mount(PATH, state.demo)
        return

    @app.get("/gradio", include_in_schema=False)
    @app.get("/gradio/", include_in_schema=False)
    async def no_demo() -> JSONResponse:
        return JSONResponse({"error": {"code": "not_found", "message": why}}, status_code=404)


async def _start(state: AppState) -> None:
    """Starts the engine; a problem that may pass (an endpoint that is not up yet) is tried again until it does."""
    engine = state.hub.engine
    while True:
        try:
            await engine.start()
        except EngineError as problem:
            log.error("engine_cannot_start", code=problem.code, problem=problem.message, again_in_s=RETRY_S if problem.retryable else None)
            state.start_problem = problem.message
            if not problem.retryable:
                return
            await asyncio.sleep(RETRY_S)
        except Exception:
            log.exception("engine_failed_to_start")
            state.start_problem = "The engine failed to start; the server's log says why."
            return
        else:
            state.start_problem = None
            log.info("engine_ready", engine=engine.capabilities.name)
            return
