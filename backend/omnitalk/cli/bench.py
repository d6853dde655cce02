"""``omnitalk bench``: measurements that anyone can repeat."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Transport = Literal["websocket", "webrtc"]

app = typer.Typer(help="Measurements that anyone can repeat.", no_args_is_help=True)


@app.command()
def cascade(
    turns: Annotated[int, typer.Option(min=1, help="Spoken turns to measure.")] = 20,
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
) -> None:
    """End of speech to first sound of the embedded engine, at real-time pace, split by stage."""
    from omnitalk.bench.cascade import main

    main(turns=turns, output=output)


@app.command()
def cut(
    rounds: Annotated[int, typer.Option(min=2, help="Cuts to measure.")] = 20,
    transport: Annotated[Transport, typer.Option(help="How the page calls.")] = "websocket",
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
) -> None:
    """From the server's decision to cut a reply to silence in what a real page plays (needs the dev extra and Chromium)."""
    from omnitalk.bench.cut import main

    main(rounds=rounds, transport=transport, output=output)


@app.command()
def page(
    loads: Annotated[int, typer.Option(min=2, help="Loads to measure.")] = 10,
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
) -> None:
    """What the page costs before a call: bytes, requests, time until Call can be pressed (needs the dev extra and Chromium)."""
    from omnitalk.bench.page import main

    main(loads=loads, output=output)


@app.command()
def latency(
    starts: Annotated[int, typer.Option(min=1, help="Starts of each stack, by turns.")] = 5,
    seconds: Annotated[float, typer.Option(min=8, help="Length of each start.")] = 20.0,
    concurrency: Annotated[int, typer.Option(min=1, max=32, help="Calls at once; all but the measured one are synthetic.")] = 1,
    stack: Annotated[list[str] | None, typer.Option(help="Only this one; again for more. Without: all.")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
) -> None:
    """Mouth to ear without a model, beside what a user would pick instead (needs the dev extra and Chromium)."""
    from omnitalk.bench.latency import main

    main(starts=starts, seconds=seconds, concurrency=concurrency, stacks=stack or [], output=output)


@app.command()
def load(
    calls: Annotated[str, typer.Option(help="Calls at once, one condition each.")] = "1,4,8,16",
    transport: Annotated[Transport | None, typer.Option(help="Only this one; by default both.")] = None,
    seconds: Annotated[float, typer.Option(min=5, help="Length of each condition.")] = 15.0,
    camera: Annotated[bool, typer.Option(help="Every caller shows a picture a second.")] = True,
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
) -> None:
    """What a call costs the server, and whether its sound keeps real time, with 1 to N synthetic calls (Linux)."""
    from omnitalk.bench.load import main

    try:
        counts = [int(number) for number in calls.split(",")]
        if min(counts) < 1:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(f"{calls!r} is no list of positive numbers such as 1,4,8", param_hint="--calls") from None
    main(ways=[transport] if transport else ["websocket", "webrtc"], counts=counts, seconds=seconds, camera=camera, output=output)


@app.command()
def omni(
    model: Annotated[str, typer.Option(help="Hub id or folder.")],
    deploy_config: Annotated[str | None, typer.Option(help="Stages: a file or one of vLLM-Omni's names.")] = None,
    stage_overrides: Annotated[str, typer.Option(help="Over that file, as JSON.")] = "{}",
    calls: Annotated[str, typer.Option(help="Calls at once, one condition each.")] = "1,2,4",
    camera: Annotated[bool, typer.Option(help="Measure every condition with a camera too.")] = False,
    turns: Annotated[int, typer.Option(min=1, help="Questions a call asks.")] = 3,
    interruptions: Annotated[bool, typer.Option(help="Also time a soft and a hard interruption.")] = False,
    chats: Annotated[int, typer.Option(min=0, help="Also measure calls while so many chat requests ask for speech.")] = 0,
    label: Annotated[str, typer.Option(help="Put before each condition.")] = "",
    output: Annotated[Path | None, typer.Option(help="Append the table (Markdown) to this file.")] = None,
) -> None:
    """First sound, gapless sound and decisions of the omni engine with 1 to N calls, in this process (needs a GPU)."""
    import json

    from omnitalk.bench.omni import main
    from omnitalk.engines.base import EngineError
    from omnitalk.engines.omni import OmniEngine, OmniOptions

    try:
        options = OmniOptions(model=model, deploy_config=deploy_config, stage_overrides=json.loads(stage_overrides))
        wanted = [int(number) for number in calls.split(",")]
        main(
            OmniEngine(options),
            calls=wanted,
            camera=camera,
            chats=chats,
            turns=turns,
            label=label,
            interruptions=interruptions,
            output=output,
        )
    except (EngineError, ValueError) as problem:
        typer.echo(f"omnitalk: {problem}", err=True)
        raise typer.Exit(1) from problem


@app.command()
def overhead(
    model: Annotated[str, typer.Option(help="Hub id or folder.")],
    deploy_config: Annotated[str, typer.Option(help="Stages: a file.")],
    replies: Annotated[int, typer.Option(min=2, help="Replies to measure each way.")] = 20,
    output: Annotated[Path | None, typer.Option(help="Also write the table (Markdown) to this file.")] = None,
    log: Annotated[Path, typer.Option(help="Where the other server's output goes.")] = Path("vllm-omni.log"),
) -> None:
    """First sound through our server, through the bare engine and through `vllm-omni serve`, in one run."""
    from omnitalk.bench.overhead import main

    main(model, deploy_config, replies=replies, output=output, log=log)
