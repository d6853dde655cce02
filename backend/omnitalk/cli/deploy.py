"""``omnitalk deploy``: how a model is laid over GPUs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from omnitalk.deploy import DeployFile, Gpu, Report

app = typer.Typer(help="How a model is laid over GPUs: list, show, check and write deploy files.", no_args_is_help=True)

FileArgument = Annotated[str, typer.Argument(help="A name from `deploy list`, or a path.", metavar="FILE_OR_NAME")]
GpusOption = Annotated[str | None, typer.Option(help="GPUs to hold it against, as 80, 2x80 (GiB each) or 8x4090; this machine's without.")]
OverridesOption = Annotated[str | None, typer.Option(help="Keys by stage that win over the file, as JSON.")]
StageOption = Annotated[list[int] | None, typer.Option(help="Only this stage is on this host (repeatable), when others run elsewhere.")]


@app.command("list")
def list_files(gpus: GpusOption = None) -> None:
    """The files that ship with Omnitalk, and which of them the GPUs can hold."""
    from omnitalk.deploy import check, our_files, read

    console = _console()
    held, why = _gpus(gpus)
    for path in our_files():
        report = check(read(path), held)
        fits = "" if held is None else ", fits" if report.accepted else ", does not fit"
        console.print(f"{path.stem}  ({_calls(report)}{fits})", highlight=False)
        console.print(f"    {_about(path)}", soft_wrap=True, highlight=False)
    told = f"{why} Name GPUs with --gpus to see what they hold." if held is None else f"Held against {_named(held)}."
    console.print(told, soft_wrap=True, highlight=False, markup=False)


@app.command()
def show(file: FileArgument, stage: StageOption = None, gpus: GpusOption = None, stage_overrides: OverridesOption = None) -> None:
    """Stages, GPUs, memory and calls of a deploy file."""
    console = _console()
    report, held, why = _judge(file, gpus, stage, stage_overrides)
    _print_report(console, report, held, why)


@app.command()
def check(file: FileArgument, stage: StageOption = None, gpus: GpusOption = None, stage_overrides: OverridesOption = None) -> None:
    """Judge a deploy file; exit 1 when it will not start or not serve, here or on the GPUs given."""
    console = _console()
    report, held, why = _judge(file, gpus, stage, stage_overrides)
    _print_report(console, report, held, why)
    raise typer.Exit(0 if report.accepted else 1)


@app.command()
def write(file: FileArgument, to: Annotated[Path, typer.Option("--to", "-o", help="The file to write.")]) -> None:
    """Write a deploy file so that vLLM-Omni itself loads it from anywhere (`vllm serve MODEL --omni --deploy-config TO`)."""
    from omnitalk.deploy import DeployFileError
    from omnitalk.deploy import write as write_file

    source = _read(file)
    try:
        write_file(source, to)
    except (DeployFileError, OSError) as problem:
        _refuse(str(problem))
    typer.echo(f"Written to {to}.")


def _judge(name: str, gpus: str | None, stages: list[int] | None, given: str | None) -> tuple["Report", "list[Gpu] | None", str]:
    """The report, the GPUs it was held against, and why there are none."""
    from omnitalk.deploy import DeployFileError, parse_overrides
    from omnitalk.deploy import check as judge

    source = _read(name)
    held, why = _gpus(gpus)
    try:
        overrides = parse_overrides(given) if given is not None else None
    except DeployFileError as problem:
        _refuse(str(problem))
    return judge(source, held, stages or None, overrides), held, why


def _gpus(described_as: str | None) -> tuple["list[Gpu] | None", str]:
    """The GPUs that are meant, or None and why."""
    from omnitalk.deploy import NoGpus, described, on_this_machine

    try:
        return (on_this_machine() if described_as is None else described(described_as)), ""
    except NoGpus as problem:
        if described_as is not None:
            _refuse(str(problem))
        return None, str(problem)


def _read(name: str) -> "DeployFile":
    from omnitalk.deploy import DeployFileError, find_file, read

    try:
        return read(find_file(name))
    except DeployFileError as problem:
        _refuse(str(problem))


def _print_report(console: "Console", report: "Report", held: "list[Gpu] | None", why: str) -> None:
    from rich.table import Table

    file = report.file
    names = [str(file.path), *(path.name for path in file.chain[1:])]
    if file.missing_base is not None:
        names.append(f"{file.missing_base} of vLLM-Omni, which is not installed here")
    console.print(" over ".join(names), soft_wrap=True, highlight=False)
    console.print(f"{report.model.title if report.model else 'Unknown model'}, {_calls(report)}", highlight=False)
    table = Table(caption="GiB on one card; ~ rests on an estimate", caption_justify="left")
    for name in ("stage", "GPUs", "share", "seats", "weights", "work", "cache", "tokens", "takes"):
        table.add_column(name, no_wrap=name != "GPUs")
    for stage in report.stages:
        facts = report.model.stages.get(stage.stage_id) if report.model else None
        memory = report.memory.get(stage.stage_id)
        cards = "?" if stage.replicas is None else " | ".join(",".join(map(str, replica)) for replica in stage.replicas)
        row = [
            f"{stage.stage_id} {facts.name if facts else ''}".strip(),
            cards,
            "?" if stage.utilization is None else f"{stage.utilization:g}",
            _at_once(stage.sequences, stage.replicas),
        ]
        if memory is None:
            row += ["", "", "" if stage.cache_bytes is None else f"{stage.cache_bytes / 1024**3:.1f}", "", ""]
        else:
            about = "~" if memory.estimate else ""
            none = facts is not None and facts.kv_bytes == 0
            row += [
                f"{memory.weights:.1f}",
                f"{about}{memory.working:.1f}",
                "none" if none else "?" if memory.cache is None else f"{about}{memory.cache:.1f}",
                "" if memory.tokens is None else f"{about}{memory.tokens / 1000:.0f} k",
                f"{about if none else ''}{memory.taken:.1f}",
            ]
        table.add_row(*row)
    console.print(table)
    for card in report.cards:
        others = f", {card.used_by_others:.1f} in use by others" if card.used_by_others >= 0.5 else ""
        verdict = "fits" if card.fits else "does not fit"
        console.print(f"GPU {card.index} ({card.name}): {card.taken:.1f} of {card.total:.1f} GiB{others}: {verdict}", highlight=False)
    for level in ("error", "warning", "note"):
        for finding in report.findings:
            if finding.level == level:
                console.print(f"{level}: {finding.text}", soft_wrap=True, highlight=False, markup=False)
    _verdict(console, report, held, why)


def _verdict(console: "Console", report: "Report", held: "list[Gpu] | None", why: str) -> None:
    bad = [finding for finding in report.findings if finding.level == "error"]
    form = "is not right" if bad else "is accepted"
    if held is None:
        console.print(f"The file {form}. {why} Name GPUs with --gpus to check memory.", soft_wrap=True, highlight=False, markup=False)
    elif bad:
        console.print(f"{len(bad)} {'error' if len(bad) == 1 else 'errors'}: this will not run on {_named(held)}.", highlight=False)
    else:
        unsure = "" if report.complete else ", as far as it can be read here"
        console.print(f"The file is accepted, and {_named(held)} can hold it{unsure}.", highlight=False)


def _named(gpus: "list[Gpu]") -> str:
    counts: dict[str, int] = {}
    for gpu in gpus:
        counts[gpu.name] = counts.get(gpu.name, 0) + 1
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in counts.items())


def _calls(report: "Report") -> str:
    if report.sessions is not None:
        return f"{report.sessions} {'call' if report.sessions == 1 else 'calls'} at once"
    return "takes no calls" if report.duplex is False else "calls at once not stated here"


def _at_once(sequences: int | None, replicas: tuple[tuple[int, ...], ...] | None) -> str:
    if sequences is None:
        return "?"
    return str(sequences) if replicas is None or len(replicas) == 1 else f"{len(replicas)} x {sequences}"


def _about(path: Path) -> str:
    """The first line of the file, which says what it is."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()


def _console() -> "Console":
    from rich.console import Console

    return Console()


def _refuse(sentence: str) -> NoReturn:
    typer.echo(f"omnitalk: {sentence}", err=True)
    raise typer.Exit(1)
