"""The line in front of the slots."""

import pytest
from omnitalk.call.admission import Admission, AdmissionConfig, Ticket
from omnitalk.call.clock import ManualClock
from omnitalk.protocol.errors import ProtocolError


class Desk:
    """A front desk with callers that keep their places alive."""

    def __init__(self, **config: int) -> None:
        self.clock = ManualClock()
        self.admission = Admission(AdmissionConfig(**config), self.clock)
        self.waiting: list[Ticket] = []

    def call(self) -> Ticket:
        ticket = self.admission.request()
        if ticket.state == "granted":
            self.admission.claim(ticket)
        else:
            self.waiting.append(ticket)
        return ticket

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            for ticket in self.waiting:
                self.admission.touch(ticket)
            self.admission.tick()


def test_a_free_slot_is_given_at_once_and_the_next_caller_waits() -> None:
    desk = Desk(slots=2)
    first, second, third = desk.call(), desk.call(), desk.call()
    assert (first.state, second.state, third.state) == ("active", "active", "waiting")
    place = desk.admission.place(third)
    assert (place.position, place.length, place.estimated_wait_ms) == (1, 1, None)


def test_first_come_first_served() -> None:
    desk = Desk(slots=1)
    talking = desk.call()
    line = [desk.call() for _ in range(4)]
    for expected in line:
        assert [desk.admission.place(t).position for t in line if t.state == "waiting"] == list(range(1, desk.admission.waiting + 1))
        desk.admission.release(talking)
        assert expected.state == "granted"
        desk.admission.claim(expected)
        talking = expected


def test_a_caller_who_leaves_moves_everyone_up() -> None:
    desk = Desk(slots=1)
    desk.call()
    second, third = desk.call(), desk.call()
    desk.admission.release(second)
    assert second.state == "gone" and desk.admission.place(third).position == 1
    desk.admission.release(second)
    assert desk.admission.waiting == 1


def test_a_caller_who_vanished_frees_the_place() -> None:
    desk = Desk(slots=1)
    desk.call()
    vanished, patient = desk.call(), desk.call()
    desk.waiting.remove(vanished)
    desk.wait(20)
    assert vanished.state == "gone" and desk.admission.place(patient).position == 1 and desk.admission.abandoned == 1


def test_a_granted_slot_that_nobody_claims_goes_to_the_next() -> None:
    desk = Desk(slots=1)
    talking = desk.call()
    vanished, patient = desk.call(), desk.call()
    desk.waiting.remove(vanished)
    desk.admission.release(talking)
    assert vanished.state == "granted"
    desk.wait(20)
    assert patient.state == "granted"
    with pytest.raises(ProtocolError, match="given up"):
        desk.admission.claim(vanished)


def test_a_full_line_refuses_with_a_reason() -> None:
    desk = Desk(slots=1, queue=1)
    desk.call()
    desk.call()
    with pytest.raises(ProtocolError, match="1 callers wait") as caught:
        desk.call()
    assert (caught.value.code, caught.value.retryable) == ("resource_exhausted", True)
    assert desk.admission.refused == 1


def test_the_wait_is_learned_from_how_long_calls_last() -> None:
    desk = Desk(slots=1)
    for length in (60, 120, 180):
        ticket = desk.call()
        desk.wait(length)
        desk.admission.release(ticket)
    desk.call()
    desk.wait(30)
    first, second = desk.call(), desk.call()
    assert desk.admission.place(first).estimated_wait_ms == pytest.approx(90_000)
    assert desk.admission.place(second).estimated_wait_ms == pytest.approx(210_000)


def test_a_call_that_lasts_too_long_is_not_expected_to_end_at_once() -> None:
    desk = Desk(slots=1)
    ticket = desk.call()
    desk.wait(100)
    desk.admission.release(ticket)
    desk.call()
    desk.wait(500)
    assert desk.admission.place(desk.call()).estimated_wait_ms == pytest.approx(50_000)


def test_draining_takes_no_one_new_and_sends_the_line_home() -> None:
    desk = Desk(slots=1)
    talking = desk.call()
    waiting = desk.call()
    assert desk.admission.close("The server is restarting; please call again in a minute.") == [waiting]
    assert waiting.state == "gone" and talking.state == "active"
    with pytest.raises(ProtocolError, match="restarting") as caught:
        desk.call()
    assert caught.value.code == "server_draining"


def test_the_next_deadline_is_when_a_ticket_would_be_abandoned() -> None:
    desk = Desk(slots=1)
    assert desk.admission.next_deadline() is None
    desk.call()
    assert desk.admission.next_deadline() is None
    vanished = desk.call()
    due = desk.admission.next_deadline()
    assert due is not None
    desk.clock.advance(due - desk.clock.now())
    desk.admission.tick()
    assert vanished.state == "gone"


@pytest.mark.parametrize("config", [{"slots": 0}, {"slots": 1, "queue": -1}])
def test_a_desk_without_slots_is_a_mistake(config: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        Admission(AdmissionConfig(**config), ManualClock())
