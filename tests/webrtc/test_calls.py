"""A call over WebRTC: opened by an offer, heard and answered, cut, and hung up."""

import httpx
import numpy as np
from omnitalk.engines.scripted import Reply, Script, ScriptedEngine, frequency_of

from tests.websocket.live import eventually, serving

from .caller import calling, loud, tone, voice


async def test_a_spoken_turn_is_heard_and_answered_with_its_own_tone() -> None:
    script = Script(hears=("Good morning.",), replies=(Reply(words="one two three", seconds=1.0),))
    async with serving(ScriptedEngine(script=script)) as live, calling(live) as caller:
        assert caller.location == f"/v1/realtime/calls/{caller.call_id}" and live.hub.find(caller.call_id) is not None
        created = await caller.until("session.created")
        assert created["session"]["id"] == caller.call_id
        caller.microphone.say(voice(0.6))
        heard = await caller.until("conversation.item.input_audio_transcription.completed")
        assert heard["transcript"] == "Good morning."
        await caller.until("output_audio_buffer.stopped")
        sound = np.concatenate(caller.heard)
        assert abs(tone(sound) - frequency_of(0)) < 3.0
        types = [event["type"] for event in caller.events]
        order = ["response.created", "output_audio_buffer.started", "response.done", "output_audio_buffer.stopped"]
        assert sorted(order, key=types.index) == order
        # The sound goes by RTP only.
        assert "response.output_audio.delta" not in types
    await eventually(lambda: len(live.hub) == 0)


async def test_what_is_asked_in_the_form_holds() -> None:
    async with serving() as live, calling(live, "duplex=1", session={"instructions": "Be brief."}) as caller:
        created = await caller.until("session.created")
        assert created["session"]["instructions"] == "Be brief."
        assert created["session"]["turn_detection"] is None
        caller.ask()
        await caller.until("output_audio_buffer.started")
        await caller.hears(loud)


async def test_talking_over_a_reply_silences_it() -> None:
    long = Script(replies=(Reply(words="one two three four five six seven eight", seconds=60.0),), pace=20.0)
    async with serving(ScriptedEngine(script=long)) as live, calling(live) as caller:
        caller.ask()
        await caller.hears(loud)
        caller.microphone.say(voice(1.2))
        cleared = await caller.until("output_audio_buffer.cleared")
        assert cleared["reason"] == "turn_detected"
        await caller.hears(lambda sound: not loud(sound))
        assert not caller.of("output_audio_buffer.stopped")
        [runner] = live.hub
        track = runner.call.ledger.get(cleared["response_id"])
        # What was counted as heard is what was sent, not the minute that was made.
        assert track is not None and 200.0 < cleared["heard_ms"] < 20_000.0


async def test_a_call_is_hung_up_by_its_address() -> None:
    async with serving() as live, calling(live) as caller:
        async with httpx.AsyncClient(base_url=f"http://{live.host}", trust_env=False) as web:
            assert (await web.delete(caller.location)).status_code == 200
            assert (await web.delete(caller.location)).status_code == 404
            assert (await web.post(f"{caller.location}/hangup")).status_code == 404
        closed = await caller.until("session.closed")
        assert closed["reason"] == "client_close"
        await eventually(caller.closed.is_set)


async def test_session_close_ends_the_call() -> None:
    async with serving() as live, calling(live) as caller:
        caller.send("session.close")
        await caller.until("session.closed")
        await eventually(lambda: len(live.hub) == 0)
