"""``omnitalk serve``: the call server."""

from typing import Annotated, Any, NoReturn

import typer

__all__ = ["serve"]


def serve(
    engine: Annotated[str | None, typer.Option(help="auto, cascade, omni, remote; scripted for tests.")] = None,
    model: Annotated[str | None, typer.Option(help="Model of the omni engine: hub id or local path.")] = None,
    deploy_config: Annotated[str | None, typer.Option(help="Stages of the omni engine: a file or one of vLLM-Omni's names.")] = None,
    stage_overrides: Annotated[str | None, typer.Option(help='Over that file, as JSON: \'{"0": {"max_num_seqs": 2}}\'.')] = None,
    voice: Annotated[str | None, typer.Option(help="Sound file of the omni engine's reference voice.")] = None,
    ws_backend: Annotated[
        list[str] | None, typer.Option(help="ws:// origin of a vLLM-Omni server for --engine remote (repeatable).")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="minicpm-native or qwen3: what the remote engine's model is.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.  [default: 7862]")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Calls at once; by default what the engine can hold.")] = None,
    queue_length: Annotated[int | None, typer.Option(help="Callers that may wait for a free line.")] = None,
    grace_s: Annotated[float | None, typer.Option(help="Seconds that a call waits for a lost connection.")] = None,
    llm_base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint for the cascade's LLM stage.")] = None,
    llm_model: Annotated[str | None, typer.Option(help="Model name at that endpoint.")] = None,
    llm_sees: Annotated[bool | None, typer.Option("--llm-sees", help="That model takes pictures: show it the camera.")] = None,
    llm_api_key_env: Annotated[str | None, typer.Option(help="Variable that holds that endpoint's key.")] = None,
    public_realtime_url: Annotated[str | None, typer.Option(help="ws(s):// address that the page uses verbatim.")] = None,
    root_path: Annotated[str | None, typer.Option(help="Path prefix that a reverse proxy strips.")] = None,
    auth: Annotated[str | None, typer.Option(help="File of keys (omnitalk auth new-key): only who has one may come in.")] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a proxy whose X-Forwarded headers count.  [default: loopback]"),
    ] = None,
    ssl_certfile: Annotated[str | None, typer.Option(help="Certificate for TLS (PEM).")] = None,
    ssl_keyfile: Annotated[str | None, typer.Option(help="Its key (PEM).")] = None,
    ssl_self_signed: Annotated[
        bool | None,
        typer.Option("--ssl-self-signed", help="TLS with a certificate made here, so that phones may use a microphone."),
    ] = None,
    allow_origin: Annotated[list[str] | None, typer.Option(help="Further origins whose pages may call (repeatable).")] = None,
    fetch_media: Annotated[str | None, typer.Option(help="Chat's media by URL: no, public, any (private too).  [default: no]")] = None,
    allowed_local_media_path: Annotated[str | None, typer.Option(help="Folder whose files chat may read by file:// URL.")] = None,
    max_requests: Annotated[int | None, typer.Option(help="API requests answered at once.  [default: 16]")] = None,
    gradio: Annotated[
        bool | None, typer.Option("--gradio/--no-gradio", help="The demo at gradio/.  [default: if gradio is installed]")
    ] = None,
    loopback: Annotated[bool | None, typer.Option("--loopback/--no-loopback", help="Let pages measure their way.  [default: yes]")] = None,
    webrtc: Annotated[bool | None, typer.Option("--webrtc/--no-webrtc", help="Take calls over WebRTC too.  [default: yes]")] = None,
    webrtc_address: Annotated[list[str] | None, typer.Option(help="Address for WebRTC media (repeatable).  [default: all]")] = None,
    webrtc_ports: Annotated[str | None, typer.Option(help="UDP ports for WebRTC media: 50000-50199.  [default: any]")] = None,
    public_address: Annotated[str | None, typer.Option(help="This machine's address as seen from outside its NAT.")] = None,
    ice_server: Annotated[
        list[str] | None, typer.Option(help="stun: or turn: URL for browsers (repeatable; turn: needs OMNITALK_TURN_SECRET).")
    ] = None,
    for_measuring: Annotated[bool | None, typer.Option("--for-measuring", help="Allow the echo engine.", hidden=True)] = None,
    scripted_mode: Annotated[str | None, typer.Option(help="Vocabulary of the scripted engine.", hidden=True)] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
) -> None:
    """Start the call server; every option is also an OMNITALK_* variable."""
    given: dict[str, Any] = {name: value for name, value in locals().items() if value is not None}
    from pydantic import ValidationError

    from omnitalk.settings import ServeSettings

    if stage_overrides is not None:
        given["stage_overrides"] = _object("--stage-overrides", stage_overrides)
    try:
        settings = ServeSettings(**given)
    except ValidationError as problem:
        _refuse("; ".join(f"{_named(e['loc'])}{e['msg']}" for e in problem.errors()))
    from omnitalk.api.auth import AuthFileError
    from omnitalk.certificates import CertificateError
    from omnitalk.engines.base import EngineError
    from omnitalk.engines.factory import make_engine
    from omnitalk.server import PortInUse, run

    try:
        run(settings, make_engine(settings))
    except (EngineError, PortInUse, AuthFileError, CertificateError) as problem:
        _refuse(str(problem))


def _named(where: tuple[int | str, ...]) -> str:
    """The option that a problem is about; none when it is about several."""
    return f"--{str(where[0]).replace('_', '-')}: " if where else ""


def _object(option: str, text: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(text)
    except ValueError as problem:
        _refuse(f"{option} is not JSON: {problem}.")
    if not isinstance(value, dict) or not all(isinstance(inner, dict) for inner in value.values()):
        _refuse(f"""{option} maps stages to settings, as '{{"0": {{"gpu_memory_utilization": 0.55}}}}'.""")
    return dict(value)


def _refuse(sentence: str) -> NoReturn:
    typer.echo(f"omnitalk: {sentence}", err=True)
    raise typer.Exit(1)
