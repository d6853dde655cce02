"""Commands: parse, call a library, print. Nothing heavy is imported before a command runs."""

import typer

from . import auth, bench, chat, deploy, gradio_demo, models, serve, web

__all__ = ["main"]

app = typer.Typer(
    name="omnitalk",
    help="Browser-first voice and video calls for full-duplex omni models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("serve")(serve.serve)
app.command("web")(web.web)
app.command("chat")(chat.chat)
app.command("gradio")(gradio_demo.gradio)
app.add_typer(models.app, name="models")
app.add_typer(auth.app, name="auth")
app.add_typer(deploy.app, name="deploy")
app.add_typer(bench.app, name="bench")


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    typer.echo(installed("omnitalk"))


def main() -> None:
    """Entry point of the console script."""
    app()
