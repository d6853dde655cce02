"""``omnitalk web``: the page in front of a vLLM-Omni server that runs already."""

from typing import Annotated

import typer

from .serve import serve

__all__ = ["web"]


def web(
    ws_backend: Annotated[list[str], typer.Option(help="ws:// origin of a vLLM-Omni server (repeatable; the least busy is used).")],
    model: Annotated[str | None, typer.Option(help="The name that the server knows its model by.")] = None,
    profile: Annotated[str | None, typer.Option(help="minicpm-native or qwen3, when the name does not tell.")] = None,
    ref_audio: Annotated[str | None, typer.Option(help="Sound file that replaces the built-in reference voice.")] = None,
    public_realtime_url: Annotated[str | None, typer.Option(help="ws(s):// address that the page uses verbatim.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.  [default: 7862]")] = None,
) -> None:
    """Short for `serve --engine remote`: the same page and doors over somebody else's model server."""
    serve(
        engine="remote",
        ws_backend=ws_backend,
        model=model,
        profile=profile,
        voice=ref_audio,
        public_realtime_url=public_realtime_url,
        host=host,
        port=port,
    )
