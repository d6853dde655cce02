"""The demo's page, built once for a server."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from .answers import About, Answers, Preset
from .asking import Manner, Update, ask
from .examples import examples
from .talk import Talk
from .uploads import uploads_only

__all__ = ["build", "head"]

_WAITING = 16
_AT_ONCE = 2
_FORGET_S = 3_600

_INVITATION = "Ask something: write, record, or add a file."
_HUSH = "() => window.omnitalkHush?.()"


def head(call_base: str | None) -> str:
    """Scripts and styles of the page: the player, the colours and, where there is a server to call, the call."""
    here = Path(__file__).parent
    scripts = "".join((here / name).read_text() for name in ("player.js", "theme.js"))
    call = "" if call_base is None else f'<script type="module" src="{call_base}shared_ui/omnitalk-call.js"></script>'
    # As a style of ours: gradio would put a prefix before the selectors of one that it is given.
    return f"<style>{(here / 'page.css').read_text()}</style><script>{scripts}</script>{call}"


def build(answers: Answers, presets: Sequence[Preset], *, call_base: str | None) -> gr.Blocks:
    """``call_base``: where the server's root lies, seen from this page; None without a server to call."""
    about = answers.about()
    demo: gr.Blocks
    with gr.Blocks(title="Omnitalk demo", analytics_enabled=False, fill_height=True, delete_cache=(_FORGET_S, _FORGET_S)) as demo:
        gr.Markdown(f"## {about.model}\n{about.honest}")
        with gr.Tabs():
            with gr.Tab("Chat"):
                if about.problem:
                    gr.Markdown(f"**{about.problem}**")
                else:
                    _chat(answers, about, presets)
            if call_base is not None:
                with gr.Tab("Call"):
                    gr.HTML(f'<omnitalk-call base="{call_base}" class="omnitalk-embedded"></omnitalk-call>')
    demo.queue(max_size=_WAITING, default_concurrency_limit=_AT_ONCE)
    return demo


def _chat(answers: Answers, about: About, presets: Sequence[Preset]) -> None:
    kinds = ["audio", *(["image", "video"] if about.sees else [])]
    titles = [preset.title for preset in presets]
    talk = gr.State(Talk)
    with gr.Row():
        with gr.Column(scale=3):
            chat = gr.Chatbot(label="Conversation", height="48dvh", buttons=["copy"], placeholder=_INVITATION)
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
            with gr.Row():
                silence = gr.Button("Silence", size="sm", min_width=100)
                clear = gr.Button("New conversation", size="sm", min_width=100)
            with tempfile.TemporaryDirectory(prefix="omnitalk-examples-") as folder:
                # Gradio keeps copies of its own.
                gr.Examples(examples(kinds, Path(folder)), inputs=box, label="Examples")
        with gr.Column(scale=1, min_width=240):
            gr.Markdown(_takes(about))
            speaks = gr.Checkbox(True, label="Speak the answer")
            preset = gr.Dropdown(titles, value=titles[0] if titles else None, label="Character", visible=bool(titles))
            system = gr.Textbox(presets[0].instructions if presets else "", label="Instructions", lines=4, max_lines=8)
            voice = gr.Dropdown(
                list(about.voices), value=about.voices[0] if about.voices else None, label="Voice", visible=bool(about.voices)
            )
            reference = uploads_only(
                gr.Audio(label="Its voice: a short recording", sources=["upload", "microphone"], type="filepath", visible=about.takes_voice)
            )
    keep = Path(chat.GRADIO_CACHE)

    async def respond(
        message: dict[str, Any], told: Talk, speak: bool, words: str, name: str | None, sample: str | None
    ) -> AsyncIterator[Update]:
        async for update in ask(answers, message, told, Manner(speak, words or "", name, sample), keep):
            yield update

    # The conversation is no input: a request could put anything into it, and have it taken for ours.
    asked = box.submit(respond, [box, talk, speaks, system, voice, reference], [box, chat, talk, sound], api_name="ask")
    box.stop(None, cancels=[asked], js=_HUSH)
    by_title = {each.title: each.instructions for each in presets}
    preset.change(lambda title: by_title.get(title, ""), preset, system, api_visibility="private", queue=False)
    silence.click(None, js=_HUSH, api_visibility="private")
    # The conversation's own bin does the same. First the answer is stopped: an update of it on its way would fill what was emptied.
    for forget in (clear.click, chat.clear):
        stopped = forget(lambda: None, cancels=[asked], api_visibility="private", queue=False)
        stopped.then(lambda: ([], Talk(), ""), None, [chat, talk, sound], api_visibility="private", queue=False)


def _takes(about: About) -> str:
    """What may be tried, in words."""
    takes = "Takes words, recordings, pictures and films." if about.sees else "Takes words and recordings; it sees no pictures."
    own = " You may lend it a voice." if about.takes_voice else ""
    return f"{takes}{own} Calls come first: beside one, a question may be refused."
