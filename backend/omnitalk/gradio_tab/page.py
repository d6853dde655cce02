"""The demo's page, built once for a server."""

import base64
import itertools
import tempfile
import uuid
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
import structlog

from omnitalk.client.completions import Refused
from omnitalk.client.query import PROMPTS, message_of

from .answers import Answers, Preset
from .talk import Talk, wav
from .uploads import uploads_only

__all__ = ["build", "head"]

log = structlog.get_logger("omnitalk.gradio")

_WINDOW = 12
"""Pieces of sound that the page holds at once: updates may be joined on their way, and none may be missed."""

_PIECE = 9_600
"""Bytes: 200 ms. Larger ones are cut, so that the window never holds more than a few seconds."""

_INVITATION = "Ask something: write, record, or add a file."
_WAITING = 16
_AT_ONCE = 2
_FORGET_S = 3_600


def head(call_base: str | None) -> str:
    """Scripts of the page: the player and, where there is a server to call, the call."""
    player = (Path(__file__).parent / "player.js").read_text()
    call = "" if call_base is None else f'<script type="module" src="{call_base}shared_ui/omnitalk-call.js"></script>'
    return f"<script>{player}</script>{call}"


def build(answers: Answers, presets: Sequence[Preset], *, call_base: str | None) -> gr.Blocks:
    """``call_base``: where the server's root lies, seen from this page; None without a server to call."""
    about = answers.about()
    kinds = ["audio", *(["image", "video"] if about.sees else [])]
    choices = [preset.title for preset in presets]
    demo: gr.Blocks
    with gr.Blocks(title="Omnitalk demo", analytics_enabled=False, fill_height=True, delete_cache=(_FORGET_S, _FORGET_S)) as demo:
        gr.Markdown(f"## {about.model}\n{about.honest}")
        if about.problem:
            gr.Markdown(f"**{about.problem}**")
        with gr.Tabs():
            with gr.Tab("Chat"):
                _chat(answers, about.voices, choices, presets, kinds, takes_voice=about.takes_voice)
            if call_base is not None:
                with gr.Tab("Call"):
                    gr.HTML(f'<omnitalk-call base="{call_base}" class="omnitalk-embedded"></omnitalk-call>')
    demo.queue(max_size=_WAITING, default_concurrency_limit=_AT_ONCE)
    return demo


def _chat(
    answers: Answers, voices: Sequence[str], choices: list[str], presets: Sequence[Preset], kinds: list[str], *, takes_voice: bool
) -> None:
    talk = gr.State(Talk)
    with gr.Row():
        with gr.Column(scale=3):
            chat = gr.Chatbot(
                label="Conversation", height=460, buttons=["copy"], placeholder="Ask something: write, record, or add a file."
            )
            sound = gr.HTML("", elem_id="omnitalk-sound")
            box = uploads_only(
                gr.MultimodalTextbox(
                    label="Your message",
                    placeholder="Write, record, or add a file",
                    sources=["upload", "microphone"],
                    file_types=kinds,
                    file_count="multiple",
                    stop_btn=True,
                )
            )
            gr.Examples(_examples(kinds), inputs=box, label="Examples")
        with gr.Column(scale=1, min_width=240):
            speaks = gr.Checkbox(True, label="Speak the answer")
            preset = gr.Dropdown(choices, value=choices[0] if choices else None, label="Character", visible=bool(choices))
            system = gr.Textbox(presets[0].instructions if presets else "", label="Instructions", lines=4, max_lines=8)
            voice = gr.Dropdown(list(voices), value=voices[0] if voices else None, label="Voice", visible=bool(voices))
            reference = uploads_only(
                gr.Audio(label="Its voice: a short recording", sources=["upload", "microphone"], type="filepath", visible=takes_voice)
            )
            clear = gr.Button("New conversation")

    async def respond(
        message: dict[str, Any], shown: list[Any], told: Talk, speak: bool, words: str, name: str | None, sample: str | None
    ) -> AsyncIterator[tuple[Any, ...]]:
        async for update in answer(answers, message, shown, told, speak=speak, system=words, voice=name, sample=sample):
            yield update

    inputs = [box, chat, talk, speaks, system, voice, reference]
    asked = box.submit(respond, inputs, [box, chat, talk, sound], api_name="ask")
    box.stop(None, cancels=[asked])
    by_title = {each.title: each.instructions for each in presets}
    preset.change(lambda title: by_title.get(title, ""), preset, system, api_visibility="private", queue=False)
    clear.click(lambda: ([], Talk(), ""), None, [chat, talk, sound], cancels=[asked], api_visibility="private", queue=False)


async def answer(
    answers: Answers,
    message: dict[str, Any],
    shown: list[Any],
    talk: Talk,
    *,
    speak: bool,
    system: str,
    voice: str | None,
    sample: str | None,
) -> AsyncIterator[tuple[Any, ...]]:
    """Updates of box, conversation, state and sound. What goes wrong is told in the conversation."""
    files = [str(each) for each in message.get("files") or []]
    text = str(message.get("text") or "")
    shown = [*shown, *({"role": "user", "content": {"path": file}} for file in files)]
    if text.strip():
        shown.append({"role": "user", "content": text})
    number, pieces, pcm, said = uuid.uuid4().hex[:8], deque[str](maxlen=_WINDOW), bytearray(), ""
    try:
        talk.say(text, files)
        about = answers.about()
        body = talk.body(about.model, system, speaks=speak, voice=voice, ref_audio=sample)
        yield gr.MultimodalTextbox(value=None), [*shown, {"role": "assistant", "content": "…"}], talk, _sound(number, pieces)
        counter = itertools.count()
        async for words, samples in answers.answer(body):
            said += words
            pcm += samples
            for start in range(0, len(samples), _PIECE):
                piece = base64.b64encode(samples[start : start + _PIECE]).decode()
                pieces.append(f'<span data-piece="{next(counter)}" data-pcm="{piece}"></span>')
                if len(pieces) == _WINDOW:
                    yield gr.skip(), gr.skip(), gr.skip(), _sound(number, pieces)
            yield gr.skip(), [*shown, {"role": "assistant", "content": said or "…"}], gr.skip(), _sound(number, pieces)
        talk.hear(said)
    except (Refused, ValueError, OSError) as problem:
        if talk.messages and talk.messages[-1]["role"] == "user":
            talk.hear(said)
        told = {"role": "assistant", "content": str(problem), "metadata": {"title": "Not answered"}}
        yield (
            gr.MultimodalTextbox(value=None),
            [*shown, *([{"role": "assistant", "content": said}] if said else []), told],
            talk,
            _sound(number, pieces),
        )
        return
    shown.append({"role": "assistant", "content": said})
    if pcm:
        path = Path(tempfile.mkdtemp(prefix="omnitalk-")) / "answer.wav"
        path.write_bytes(wav(bytes(pcm)))
        shown.append({"role": "assistant", "content": gr.Audio(str(path), buttons=["download"], show_label=False)})
    yield gr.skip(), shown, talk, _sound(number, pieces)


def _sound(number: str, pieces: Sequence[str]) -> str:
    return f'<span data-answer="{number}" hidden>{"".join(pieces)}</span>'


def _examples(kinds: Sequence[str]) -> list[dict[str, Any]]:
    """What this engine can answer: words always, pictures and films where it sees, a recording where a voice is at hand to speak it."""
    examples: list[dict[str, Any]] = [{"text": PROMPTS["text"], "files": []}, {"text": "What is the capital of France?", "files": []}]
    folder = Path(tempfile.mkdtemp(prefix="omnitalk-examples-"))
    wanted = [("use_audio", "audio_url", "question.wav"), ("use_image", "image_url", "picture.png"), ("use_video", "video_url", "film.mp4")]
    for kind, part, name in wanted:
        if part.removesuffix("_url") not in kinds:
            continue
        try:
            content = message_of(kind, None)["content"]  # type: ignore[arg-type]
        except (ValueError, OSError) as problem:
            log.info("no_example", kind=kind, problem=str(problem))
            continue
        (folder / name).write_bytes(base64.b64decode(content[0][part]["url"].partition(",")[2]))
        examples.append({"text": content[1]["text"], "files": [str(folder / name)]})
    return examples
