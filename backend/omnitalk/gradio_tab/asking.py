"""One question of the demo: what the page shows while it is answered."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple, cast

import gradio as gr
import structlog

from omnitalk.client.completions import Refused

from .answers import Answers
from .sound import LiveSound, wav
from .talk import Talk, Turn

__all__ = ["Manner", "Update", "ask", "shown"]

log = structlog.get_logger("omnitalk.gradio")

_LONGEST_SOUND = 24_000 * 2 * 600
"""Bytes of an answer that are kept for its player: ten minutes."""


class Manner(NamedTuple):
    """How an answer is wanted. ``sample``: a recording of the voice."""

    speaks: bool
    system: str
    voice: str | None
    sample: str | None


class Update(NamedTuple):
    """Of the message box, the conversation, its state and the sound."""

    box: Any
    chat: Any
    talk: Any
    sound: Any


async def ask(answers: Answers, message: dict[str, Any], talk: Talk, manner: Manner, keep: Path) -> AsyncIterator[Update]:
    """What goes wrong is told in the conversation. ``keep``: where the page may fetch files from."""
    sound, pcm = LiveSound(), bytearray()
    emptied = gr.MultimodalTextbox(value=None)
    files = [str(each) for each in message.get("files") or []]
    try:
        answer = talk.say(str(message.get("text") or ""), files)
    except (ValueError, OSError) as problem:
        yield Update(gr.skip(), [*shown(talk), _problem(str(problem))], gr.skip(), sound.html)
        return
    yield Update(emptied, shown(talk), talk, sound.html)
    try:
        body = await asyncio.to_thread(
            talk.body, answers.about().model, manner.system, speaks=manner.speaks, voice=manner.voice, ref_audio=manner.sample
        )
        async with aclosing(cast(Any, answers.answer(body))) as pieces:
            async for words, samples in pieces:
                answer.text += words
                pcm += samples[: max(0, _LONGEST_SOUND - len(pcm))]
                for html in sound.add(samples):
                    yield Update(gr.skip(), gr.skip(), gr.skip(), html)
                yield Update(gr.skip(), shown(talk) if words else gr.skip(), gr.skip(), sound.html)
        if not answer.text and not pcm:
            answer.problem = "The model said nothing."
    except (Refused, ValueError, OSError) as problem:
        answer.problem = str(problem)
    except Exception:
        log.exception("demo_failed")
        answer.problem = "The demo failed here; the server's log says why."
    finally:
        # Also when the person pressed *Stop* or left: what was said stays said.
        talk.settle(answer)
    if pcm:
        answer.sound = await asyncio.to_thread(_kept, keep, bytes(pcm))
    yield Update(gr.skip(), shown(talk), talk, sound.html)


def shown(talk: Talk) -> list[dict[str, Any]]:
    """The conversation for ``gr.Chatbot``."""
    found: list[dict[str, Any]] = []
    for turn in talk.turns:
        found += [{"role": turn.role, "content": {"path": str(file)}} for file in turn.files]
        if turn.text:
            found.append({"role": turn.role, "content": turn.text})
        if turn.sound is not None:
            found.append({"role": turn.role, "content": {"path": str(turn.sound)}})
        if turn.problem:
            found.append(_problem(turn.problem))
        elif _waits(turn):
            found.append({"role": "assistant", "content": "…"})
    return found


def _waits(turn: Turn) -> bool:
    return turn.role == "assistant" and turn.sent and not turn.text and turn.sound is None


def _problem(sentence: str) -> dict[str, Any]:
    return {"role": "assistant", "content": sentence, "metadata": {"title": "Not answered"}}


def _kept(folder: Path, pcm: bytes) -> Path:
    path = folder / uuid.uuid4().hex / "answer.wav"
    path.parent.mkdir(parents=True)
    path.write_bytes(wav(pcm))
    return path
