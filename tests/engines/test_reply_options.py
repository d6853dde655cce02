"""Options of one response: honoured or refused by name."""

from typing import Any

import pytest
from omnitalk.engines.base import EngineError
from omnitalk.engines.cascade.options import MAX_TOKENS, parse_options
from omnitalk.protocol.session import SessionSettings

SETTINGS = SessionSettings(instructions="Be kind.", voice="heart", temperature=0.3, max_output_tokens=50, speed=1.2)


def test_without_options_the_session_rules() -> None:
    options = parse_options({}, SETTINGS)
    assert (options.instructions, options.temperature, options.max_tokens, options.speed) == ("Be kind.", 0.3, 50, 1.2)
    assert options.speaks and options.in_conversation and options.items is None


def test_options_win_over_the_session() -> None:
    raw = {
        "instructions": "Be short.", "output_modalities": ["text"], "conversation": "none", "metadata": {"a": "b"},
        "temperature": 1, "max_output_tokens": "inf", "voice": "heart", "tools": [], "tool_choice": "auto", "audio": {"output": {}},
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}],
    }  # fmt: skip
    options = parse_options(raw, SETTINGS)
    assert (options.instructions, options.speaks, options.in_conversation) == ("Be short.", False, False)
    assert (options.metadata, options.temperature, options.max_tokens) == ({"a": "b"}, 1.0, MAX_TOKENS)
    assert options.items is not None and options.items[0]["content"][0]["text"] == "Hi."


@pytest.mark.parametrize(
    ("raw", "code", "param"),
    [
        ({"voice": "other"}, "unsupported_native_response_options", "response.voice"),
        ({"tools": [{"type": "function"}]}, "unsupported_native_response_options", "response.tools"),
        ({"audio": {"output": {"voice": "other"}}}, "unsupported_native_response_options", "response.audio.output.voice"),
        ({"wings": 2}, "unsupported_native_response_options", "response.wings"),
        ({"conversation": "mine"}, "bad_event", "response.conversation"),
        ({"instructions": 7}, "bad_event", "response.instructions"),
        ({"metadata": []}, "bad_event", "response.metadata"),
        ({"temperature": True}, "bad_event", "response.temperature"),
        ({"temperature": 2.5}, "bad_event", "response.temperature"),
        ({"max_output_tokens": 0}, "bad_event", "response.max_output_tokens"),
        ({"output_modalities": []}, "bad_event", "response.output_modalities"),
        ({"input": "hello"}, "bad_event", "response.input"),
        (
            {"input": [{"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "AAAA"}]}]},
            "unsupported_native_response_options",
            "response.input",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(raw: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(EngineError) as refused:
        parse_options(raw, SETTINGS)
    assert (refused.value.code, refused.value.param) == (code, param)
