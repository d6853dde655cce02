"""The way of an answer's sound to the page: nothing is missed, and little is sent twice."""

import base64
import re

from omnitalk.gradio_tab.sound import LiveSound

PCM = bytes(range(256)) * 3_000
_PIECE = re.compile(r'data-piece="(\d+)" data-pcm="([^"]+)"')


def updates(pcm: bytes, at_once: int) -> list[str]:
    sound = LiveSound()
    shown = []
    for start in range(0, len(pcm), at_once):
        shown += [*sound.add(pcm[start : start + at_once]), sound.html]
    return shown


def heard(shown: list[str]) -> bytes:
    """As ``player.js`` does: each number once."""
    last, out = -1, b""
    for html in shown:
        for number, data in _PIECE.findall(html):
            if int(number) > last:
                assert int(number) == last + 1, "a piece was missed"
                last = int(number)
                out += base64.b64decode(data)
    return out


def test_a_page_that_sees_every_tenth_update_hears_everything() -> None:
    shown = updates(PCM, 9_600)
    assert heard(shown) == PCM
    assert heard([*shown[::10], shown[-1]]) == PCM


def test_a_large_piece_comes_in_small_ones() -> None:
    assert heard(updates(PCM, 400_000)) == PCM


def test_what_is_new_is_sent_and_not_the_rest() -> None:
    """Gradio sends the end of a text that has grown, and all of one that has changed otherwise."""
    shown = updates(PCM, 9_600)
    sent = sum(len(new) - len(old) if new.startswith(old) else len(new) for old, new in zip(["", *shown], shown, strict=False))
    assert sent < 3 * len(base64.b64encode(PCM))
