"""``omnitalk auth``: keys and links for people and programs."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(help="Keys and links for people and programs.", no_args_is_help=True)

_FILE = Path("~/.config/omnitalk/keys")
_File = Annotated[Path, typer.Option(envvar=["OMNITALK_AUTH", "OMNITALK_AUTH_FILE"], help="The file of keys.")]


@app.command("new-key")
def new_key(name: Annotated[str, typer.Argument(help="Whose key it is.")], file: _File = _FILE) -> None:
    """Make a key, print it once, and keep its digest in the file."""
    from omnitalk.api.auth.keys import AuthFileError, add_key

    path = file.expanduser()
    try:
        secret = add_key(path, name)
    except (AuthFileError, OSError) as problem:
        _refuse(str(problem))
    typer.echo(secret)
    typer.echo(f"\nThis is shown once. Start the server with --auth {path}; one that runs with it knows the key already.", err=True)


@app.command()
def link(
    name: Annotated[str, typer.Argument(help="Whose key it counts for.")],
    url: Annotated[str, typer.Option(help="Address of the page, as people open it.")] = "http://localhost:7862/",
    hours: Annotated[float, typer.Option(min=0.01, max=24 * 90, help="How long it lets in; who came by it is out again then.")] = 4.0,
    file: _File = _FILE,
) -> None:
    """Print a link that signs a person in without a key."""
    import time
    from urllib.parse import urlsplit

    from omnitalk.api.auth.keys import AuthFileError, Keyring
    from omnitalk.api.auth.tokens import sign

    try:
        ring = Keyring.read(file.expanduser())
    except AuthFileError as problem:
        _refuse(str(problem))
    if ring.named(name) is None:
        _refuse(f"There is no key named {name!r} in {file.expanduser()}.")
    if urlsplit(url).scheme not in ("http", "https"):
        _refuse(f"--url is the page's address, such as https://talk.example.org/, not {url!r}.")
    typer.echo(f"{url.rstrip('/')}/signin?token={sign(ring.secret, 'link', name, time.time() + hours * 3600)}")


def _refuse(sentence: str) -> NoReturn:
    typer.echo(f"omnitalk: {sentence}", err=True)
    raise typer.Exit(1)
