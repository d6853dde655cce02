"""``omnitalk chat``: one question to any OpenAI-compatible server."""

import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

__all__ = ["chat"]


def chat(
    query_type: Annotated[str, typer.Option(help="text, use_image, use_audio, use_video, use_mixed.")] = "text",
    prompt: Annotated[str | None, typer.Option(help="The question.  [default: one that fits the type]")] = None,
    modalities: Annotated[str, typer.Option(help="What is wanted: text, or text,audio.")] = "text",
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Show words as they are written.")] = False,
    image: Annotated[str | None, typer.Option(help="Picture: a file or URL.  [default: one drawn here]")] = None,
    audio: Annotated[str | None, typer.Option(help="Recording: a file or URL.  [default: one spoken here]")] = None,
    video: Annotated[str | None, typer.Option(help="Film: a file or URL.  [default: one drawn here]")] = None,
    output: Annotated[Path, typer.Option(help="Where speech is saved.")] = Path("answer.wav"),
    voice: Annotated[str | None, typer.Option(help="Name of a voice.")] = None,
    api_base: Annotated[str, typer.Option(help="The server.")] = "http://localhost:7862/v1",
    model: Annotated[str | None, typer.Option(help="Model.  [default: the first that the server lists]")] = None,
    api_key_env: Annotated[str, typer.Option(help="Variable that holds the server's key.")] = "OPENAI_API_KEY",
) -> None:
    """Ask a model something; words go to the terminal, speech into a WAV file."""
    from omnitalk.client.completions import Refused, first_model
    from omnitalk.client.conversation import converse
    from omnitalk.client.query import KINDS, body_of, message_of

    kind = next((each for each in KINDS if each == query_type), None)
    if kind is None:
        _refuse(f"--query-type is one of {', '.join(KINDS)}, not {query_type!r}.")
    wanted = [word.strip() for word in modalities.split(",") if word.strip()]
    if not wanted or set(wanted) - {"text", "audio"}:
        _refuse(f"--modalities is text, audio or text,audio, not {modalities!r}.")
    key, base = os.environ.get(api_key_env, "none"), api_base.rstrip("/")
    try:
        message = message_of(kind, prompt, image=image, audio=audio, video=video)
        body = body_of(message, model or first_model(base, key), wanted, stream=stream, voice=voice)
        report = converse(base, key, body, show=lambda text: typer.echo(text, nl=False), output=output)
    except (Refused, ValueError, OSError) as problem:
        _refuse(str(problem))
    typer.echo()
    times = {"first word": report.first_word_s, "first sound": report.first_sound_s, "whole answer": report.whole_s}
    typer.echo(", ".join(f"{name} after {seconds:.2f} s" for name, seconds in times.items() if seconds is not None), err=True)
    if report.usage:
        typer.echo(f"{report.usage.get('prompt_tokens')} tokens in, {report.usage.get('completion_tokens')} out", err=True)
    if report.speech_s:
        typer.echo(f"{report.speech_s:.1f} s of speech in {output}", err=True)
    elif "audio" in wanted:
        _refuse("The server sent no speech.")


def _refuse(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(1)
