"""Turns of a server that keeps an interrupted response open are told apart by the units that have gone to it."""

from omnitalk.engines.remote.boundary import UnitBoundary
from omnitalk.engines.remote.events import RemoteEvent


def event(kind: str, response_id: str = "resp_a") -> RemoteEvent:
    return RemoteEvent({"type": kind, "response_id": response_id})


SOUND = "response.output_audio.delta"


def told(boundary: UnitBoundary, *events: RemoteEvent) -> list[tuple[str, str | None]]:
    return [(passed.type, passed.response_id) for one in events for passed in boundary.pass_on(one)]


def test_nothing_changes_without_an_interruption() -> None:
    boundary = UnitBoundary()
    boundary.unit_sent()
    assert told(boundary, event("response.created"), event(SOUND), event("response.done")) == [
        ("response.created", "resp_a"),
        (SOUND, "resp_a"),
        ("response.done", "resp_a"),
    ]


def test_what_is_left_over_is_dropped_and_the_next_turn_gets_an_id_of_its_own() -> None:
    boundary = UnitBoundary()
    boundary.unit_sent()
    boundary.yield_floor("resp_a")
    assert told(boundary, event(SOUND)) == []
    boundary.unit_sent()
    # The unit that had to listen is complete: its forerunner's sound may still come.
    assert told(boundary, event(SOUND), event("response.output_audio_transcript.delta")) == []
    boundary.unit_sent()
    began = told(boundary, event(SOUND), event("response.output_audio_transcript.delta"), event("response.done"))
    fresh = began[0][1]
    assert fresh != "resp_a"
    assert began == [
        ("response.created", fresh),
        (SOUND, fresh),
        ("response.output_audio_transcript.delta", fresh),
        ("response.done", fresh),
    ]


def test_a_server_that_ends_the_response_itself_is_believed() -> None:
    boundary = UnitBoundary()
    boundary.yield_floor("resp_a")
    assert told(boundary, event("response.done"), event("response.created", "resp_b"), event(SOUND, "resp_b")) == [
        ("response.done", "resp_a"),
        ("response.created", "resp_b"),
        (SOUND, "resp_b"),
    ]


def test_the_renamed_turn_can_be_interrupted_too() -> None:
    boundary = UnitBoundary()
    boundary.yield_floor("resp_a")
    boundary.unit_sent()
    boundary.unit_sent()
    fresh = told(boundary, event(SOUND))[0][1]
    assert fresh is not None
    boundary.yield_floor(fresh)
    assert told(boundary, event(SOUND)) == []
    boundary.unit_sent()
    boundary.unit_sent()
    again = told(boundary, event(SOUND))[0][1]
    assert again not in (None, fresh, "resp_a")
