"""A spoken conversation over a real socket: turns, talking over a reply, sound sent ahead, and what each encoding carries."""

import asyncio
import json
from collections.abc import Callable

import numpy as np
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine, frequency_of
from omnitalk.protocol import binary_codec, client, server

from .live import Event, Talker, quiet, serving, sound_of, talking, tone_of, voice

OPENAI = "model=any"


async def silence_until(talker: Talker, *wanted: str | Callable[[Event], bool]) -> None:
    """The microphone stays open and hears nothing."""
    sending = asyncio.create_task(talker.speak(quiet(20.0, 24_000), 24_000, pace=4.0))
    await talker.until(*wanted)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)


async def test_a_spoken_turn_is_heard_committed_and_answered_with_its_own_tone() -> None:
    script = Script(hears=("Good morning.",))
    async with serving(ScriptedEngine(script=script)) as live, talking(live.ws(OPENAI)) as talker:
        await talker.speak(voice(0.6, 24_000), 24_000, pace=4.0)
        await silence_until(talker, "response.done")
        types = [event["type"] for event in talker.events]
        order = [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "response.created",
        ]
        assert sorted(order, key=types.index) == order
        [heard] = talker.of("conversation.item.input_audio_transcription.completed")
        assert heard["transcript"] == "Good morning."
        assert abs(tone_of(sound_of(talker.events)) - frequency_of(0)) < 2.0


async def test_talking_over_a_reply_cuts_it_and_the_next_one_answers() -> None:
    long = Script(replies=(Reply(words="one two three four five six seven eight", seconds=60.0),), pace=20.0)
    async with serving(ScriptedEngine(script=long)) as live, talking(live.ws(OPENAI)) as talker:
        await talker.speak(voice(0.6, 24_000), 24_000, pace=4.0)
        await silence_until(talker, "response.output_audio.delta")
        first = talker.of("response.created")[0]["response_id"]
        speaking = asyncio.create_task(talker.speak(voice(1.2, 24_000), 24_000))
        cleared = await talker.until("output_audio_buffer.cleared")
        assert (cleared["response_id"], cleared["reason"]) == (first, "turn_detected")
        mark = len(talker.events)
        await speaking
        await silence_until(talker, lambda event: event["type"] == "response.done" and event["response_id"] != first)
        after = talker.events[mark:]
        assert not sound_of(after, first)
        [done] = [event for event in talker.of("response.done") if event["response_id"] == first]
        assert (done["response"]["status"], done["response"]["status_details"]["reason"]) == ("cancelled", "turn_detected")
        assert abs(tone_of(sound_of(after)) - frequency_of(1)) < 2.0


async def test_a_page_gets_sound_eight_seconds_ahead_and_more_as_it_plays() -> None:
    long = Script(replies=(Reply(words="one two three", seconds=30.0),), pace=1_000.0, first_sound_s=0.0)
    async with serving(ScriptedEngine(script=long)) as live, talking(live.ws(), subprotocols=["omnitalk.binary.v1"]) as talker:
        heard_ms = 0.0
        response_id = ""

        async def listen(until_ms: float) -> None:
            nonlocal heard_ms, response_id
            while heard_ms < until_ms:
                data = await talker.socket.recv()
                if isinstance(data, bytes):
                    event = binary_codec.decode_server(data)
                    assert isinstance(event, server.ResponseOutputAudioDelta)
                    heard_ms += len(event.delta) / 48
                    response_id = event.response_id

        await talker.send("session.update", session={})
        await talker.ask()
        async with asyncio.timeout(10):
            await listen(7_900)
        # The engine has said all of it; what more comes now comes at the speed at which it is played.
        [runner] = live.hub
        assert runner.call.outbox.journal.last_seq
        before = heard_ms
        assert before < 9_500
        await talker.send("playback.ack", response_id=response_id, played_ms=7_000)
        async with asyncio.timeout(10):
            await listen(before + 5_000)
        assert heard_ms < 20_000


async def test_both_encodings_carry_the_same_sound() -> None:
    script = Script(replies=(Reply(words="one two", seconds=1.0),))
    async with serving(ScriptedEngine(script=script)) as live:
        async with talking(live.ws()) as talker:
            await talker.open()
            await talker.ask()
            await talker.until("response.done")
            expected = sound_of(talker.events)
        async with talking(live.ws(), subprotocols=["omnitalk.binary.v1"]) as page:
            await page.send("session.update", session={})
            frame = client.InputAudioBufferAppend(audio=bytes(np.zeros(320, "<i2")))
            await page.raw(binary_codec.encode_client(frame))
            await page.ask()
            sound = b""
            async with asyncio.timeout(10):
                while True:
                    data = await page.socket.recv()
                    if isinstance(data, bytes):
                        event = binary_codec.decode_server(data)
                        assert isinstance(event, server.ResponseOutputAudioDelta)
                        sound += event.delta
                    elif json.loads(data)["type"] == "response.done":
                        break
        assert sound == expected
