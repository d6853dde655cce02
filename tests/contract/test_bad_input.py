"""Bad input is refused by name, and the session goes on."""

import pytest
from omnitalk.bench.driver import opened
from omnitalk.engines.base import Command, Engine, EngineError
from omnitalk.protocol import client, server

BAD: list[tuple[str, Command, str]] = [
    ("commit of nothing", client.InputAudioBufferCommit(), "input_audio_buffer_empty"),
    ("half a sample", client.InputAudioBufferAppend(audio=b"\x00\x00\x00"), "bad_audio"),
    ("a sample that is no number", client.InputAudioBufferAppend(audio=b"\x00\x00\xc0\x7f", format="pcm_f32le"), "bad_audio"),
    ("an unknown format", client.InputAudioBufferAppend(audio=b"\x00\x00", format="opus"), "unsupported_audio_format"),
    ("an absurd rate", client.InputAudioBufferAppend(audio=b"\x00\x00", sample_rate_hz=1), "unsupported_audio_format"),
    ("no such item", client.ConversationItemRetrieve(item_id="item_none"), "item_not_found"),
    ("no such item to delete", client.ConversationItemDelete(item_id="item_none"), "item_not_found"),
    ("no such item to cut", client.ConversationItemTruncate(item_id="item_none", audio_end_ms=0), "item_not_found"),
    ("an item without content", client.ConversationItemCreate(item={"type": "message", "role": "user", "content": []}), "bad_event"),
    ("an item of nobody", client.ConversationItemCreate(item={"type": "message", "role": "pilot", "content": [{}]}), "bad_event"),
    ("nothing to answer", client.ResponseCreate(), "response_create_without_input"),
    ("a voice for one response", client.ResponseCreate(response={"voice": "other"}), "unsupported_native_response_options"),
    ("a temperature of nowhere", client.ResponseCreate(response={"temperature": float("nan")}), "bad_event"),
]


@pytest.mark.parametrize(("what", "command", "code"), BAD, ids=[what for what, _, _ in BAD])
async def test_refused_by_name(engine: Engine, what: str, command: Command, code: str) -> None:
    async with opened(engine) as driver:
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(command)
        assert refused.value.code == code, what
        assert len(refused.value.message) > 10
        # It lives: the next command is served.
        await driver.session.submit(client.InputAudioBufferClear())
        await driver.until_type(server.InputAudioBufferCleared)


async def test_one_response_at_a_time(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.begin("Tell me a long story about a brave little ship.")
        if not engine.capabilities.text_input:
            # It begins by itself, when it has heard enough.
            await driver.until_type(server.ResponseCreated)
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.ResponseCreate())
        assert refused.value.code == "response_already_active"
        await driver.until_type(server.ResponseCreated)
        assert len(driver.all(server.ResponseCreated)) == 1


async def test_less_than_a_tenth_of_a_second_is_no_turn(engine: Engine) -> None:
    async with opened(engine) as driver:
        await driver.session.submit(client.InputAudioBufferAppend(audio=bytes(2 * 1_500)))
        with pytest.raises(EngineError) as refused:
            await driver.session.submit(client.InputAudioBufferCommit())
        assert refused.value.code == "input_audio_buffer_empty"
