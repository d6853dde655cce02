"""What a burst of speech meant, by its words."""

import pytest
from omnitalk.call.verdict import judge


@pytest.mark.parametrize("text", ["Mm-hm.", "mhm", "Uh-huh", "Yeah.", "Yeah, yeah!", "Oh, I see.", "Okay, right.", "Hmm…", "Got it."])
def test_a_listener_who_agrees_does_not_want_the_floor(text: str) -> None:
    assert judge(text, 400) == "backchannel"


@pytest.mark.parametrize("text", ["", "  ", "...", "[BLANK_AUDIO]", "(coughs)", "*sneezes*", "♪ music ♪", "Thank you.", "you"])
def test_noise_and_what_a_recogniser_makes_of_it(text: str) -> None:
    assert judge(text, 400) == "noise"


@pytest.mark.parametrize("text", ["Stop!", "No.", "Wait", "What?", "Yes, but why?", "okay stop", "(coughs) stop it", "I see a dog"])
def test_words_take_the_floor(text: str) -> None:
    assert judge(text, 600) == "words"


def test_more_words_than_anyone_can_say_were_made_up() -> None:
    assert judge("this is far too much text for so short a sound", 200) == "noise"
    assert judge("this is far too much text for so short a sound", 3_000) == "words"


def test_a_long_thank_you_or_a_long_yes_is_meant() -> None:
    assert judge("Thank you very much", 1_500) == "words"
    assert judge("yes yes yes yes yes yes", 2_500) == "words"


def test_a_hum_is_noise_whatever_word_the_recogniser_makes_of_it() -> None:
    assert judge("Mom?", 360) == "noise"
    assert judge("Mom?", 700) == "words"


@pytest.mark.parametrize("text", ["Stop", "No.", "Wait!", "What?", "Sorry", "Hold on"])
def test_an_interjection_takes_the_floor_however_short(text: str) -> None:
    assert judge(text, 200) == "words"
