"""Clauses: short first, whole sentences after, and nothing lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omnitalk.engines.cascade.clauses import ClauseSplitter, speakable

TEXT = (
    "Paris is lovely, especially in spring. Dr. Smith agrees! It has 3.5 million visitors a year, "
    "more than one might think, and they stay. Go."
)


def split(text: str, size: int) -> list[str]:
    """The clauses of a text that comes in pieces of this many characters."""
    splitter = ClauseSplitter()
    clauses = [clause for at in range(0, len(text), size) for clause in splitter.feed(text[at : at + size])]
    return clauses + splitter.flush()


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_how_the_text_arrives_makes_no_difference(size: int) -> None:
    assert [clause.strip() for clause in split(TEXT, size)] == [
        "Paris is lovely,",
        "especially in spring.",
        "Dr. Smith agrees!",
        "It has 3.5 million visitors a year, more than one might think,",
        "and they stay.",
        "Go.",
    ]


@given(st.text(alphabet="ab ,.!?\n:;\u2026", max_size=300), st.integers(1, 20))
def test_no_character_is_lost(text: str, size: int) -> None:
    clauses = split(text, size)
    assert "".join(clauses).rstrip() == text.rstrip()
    assert all(clause.strip() for clause in clauses) or not text.strip()


def test_a_first_clause_without_punctuation_is_cut_after_eight_words() -> None:
    first, *_ = split("one two three four five six seven eight nine ten eleven twelve", 4)
    assert first == "one two three four five six seven eight"


@pytest.mark.parametrize(
    ("written", "said"),
    [("**Bold** move.", "Bold move."), ("- milk", "milk"), ("`x`", "x"), ("```python", ""), ("...", ""), (" # Title ", "Title")],
)
def test_markup_is_not_spoken(written: str, said: str) -> None:
    assert speakable(written) == said
