"""``omnitalk gradio``: the demo alone, against somebody else's server."""

import os
from typing import Annotated

import typer

__all__ = ["gradio"]


def gradio(
    api_base: Annotated[str, typer.Option(help="An OpenAI-compatible server.")] = "http://localhost:7862/v1",
    model: Annotated[str | None, typer.Option(help="Model.  [default: the first that the server lists]")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on.")] = 7863,
    api_key_env: Annotated[str, typer.Option(help="Variable that holds the server's key.")] = "OPENAI_API_KEY",
) -> None:
    """Chat with any OpenAI-compatible server in a page: text, pictures, sound, film; text and speech back."""
    from omnitalk.client.completions import Refused, first_model
    from omnitalk.gradio_tab.answers import Remote
    from omnitalk.gradio_tab.mount import run_alone

    base, key = api_base.rstrip("/"), os.environ.get(api_key_env, "none")
    try:
        run_alone(Remote(base, model or first_model(base, key), key), host=host, port=port)
    except Refused as problem:
        typer.echo(f"omnitalk: {problem}", err=True)
        raise typer.Exit(1) from problem
    except OSError as problem:
        typer.echo(f"omnitalk: Cannot listen on {host}:{port}. Stop the other program or choose another port with --port.", err=True)
        raise typer.Exit(1) from problem
    except ImportError as problem:
        typer.echo("omnitalk: The demo needs gradio: pip install 'omnitalk[demo]'", err=True)
        raise typer.Exit(1) from problem
