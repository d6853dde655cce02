"""What the demo's address gives to somebody who asks for more than the page does."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.page.conftest import serve

from .strangers import Stranger, named, paths_in

__all__ = ["serve"]

SECRET = "the words of a file that nobody uploaded"


@pytest.mark.parametrize("where", ["conversation", "message", "voice"])
async def test_a_file_that_was_not_uploaded_cannot_be_read(serve: Callable[..., str], tmp_path: Path, where: str) -> None:
    secret = tmp_path / "secret.wav"
    secret.write_text(SECRET)
    file = named(str(secret))
    stranger = Stranger(f"{serve()}/gradio/")
    said = await stranger.ask(
        multimodaltextbox={"text": "Hello?", "files": [file] if where == "message" else []},
        chatbot=[{"role": "user", "content": [{"type": "file", "file": file}]}] if where == "conversation" else [],
        checkbox=False,
        textbox="",
        audio=file if where == "voice" else None,
    )
    for path in {str(secret), *paths_in(said)}:
        assert SECRET not in (await stranger.read(path)).text


async def test_the_server_fetches_nothing_that_a_stranger_names(serve: Callable[..., str]) -> None:
    # An address that is nobody's.
    said = await Stranger(f"{serve()}/gradio/").ask(
        multimodaltextbox={"text": "Hello?", "files": [named("http://192.0.2.1/sound.wav")]}, chatbot=[], checkbox=False, textbox=""
    )
    assert "fetches none from an address" in said
