"""``omnitalk models``: list, fetch, verify the weights."""

from typing import Annotated

import typer

app = typer.Typer(help="The weights that the embedded engine runs on.", no_args_is_help=True)


@app.command("list")
def list_models() -> None:
    """What the manifest holds, and what is here."""
    from rich.console import Console
    from rich.table import Table

    from omnitalk.models import Store

    store = Store()
    table = Table("name", "weights", "licence", "size", "here")
    for model in store.manifest.values():
        here = "yes" if store.complete(model) else ("no" if model.default else "no (optional)")
        table.add_row(model.name, model.title, model.licence, f"{model.size / 1e6:,.1f} MB", here)
    console = Console()
    console.print(table)
    console.print(f"Cache: {store.cache}", soft_wrap=True)


@app.command()
def fetch(names: Annotated[list[str] | None, typer.Argument(help="Names from `models list`; all default ones without.")] = None) -> None:
    """Download what is missing (idempotent; interrupted downloads go on)."""
    from omnitalk.models import FetchFailed, MissingModel, Store

    from .downloads import TerminalProgress

    store = Store()
    wanted = names or [model.name for model in store.manifest.values() if model.default]
    try:
        missing = [name for name in wanted if not store.complete(store.model(name))]
        with TerminalProgress() as progress:
            for name in missing:
                store.fetch(name, progress)
    except (FetchFailed, MissingModel) as problem:
        typer.echo(f"omnitalk: {problem}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"Weights are complete in {store.cache}.")


@app.command()
def verify(names: Annotated[list[str] | None, typer.Argument(help="Names from `models list`; all that are here without.")] = None) -> None:
    """Check every byte against the official digests."""
    from omnitalk.models import MissingModel, Store

    store = Store()
    try:
        chosen = [store.model(name) for name in names] if names else [m for m in store.manifest.values() if store.complete(m)]
    except MissingModel as problem:
        typer.echo(f"omnitalk: {problem}", err=True)
        raise typer.Exit(1) from None
    failed = False
    for model in chosen:
        wrong = store.verify(model)
        failed = failed or bool(wrong)
        typer.echo(f"{model.name}: {'; '.join(wrong) if wrong else 'as released'}")
    if failed:
        typer.echo("omnitalk: remove the folders named above and run `omnitalk models fetch`.", err=True)
        raise typer.Exit(1)
