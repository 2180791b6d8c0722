"""Segments: cut by a rule that depends on the text alone."""

import time
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrails.text.segments import Segments
from tests.text.streams import ones, pieces_of

LONGEST: Final = 20
TEXTS: Final = st.text(st.sampled_from("ab .!?\n\"')]»} \t\u00a0,"), max_size=120)


def segments(pieces: Sequence[str], longest: int = LONGEST) -> list[str]:
    """All segments of a text."""
    cutter = Segments(longest)
    closed = [segment for piece in pieces for segment in cutter.feed(piece)]
    return closed + cutter.close()


def closed_by(pieces: Sequence[str], longest: int = LONGEST) -> list[str]:
    """The segments that are closed before the text ends."""
    cutter = Segments(longest)
    return [segment for piece in pieces for segment in cutter.feed(piece)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two", ["One. ", "Two"]),
        ("One?!... Two", ["One?!... ", "Two"]),
        ('He: "no!")  Two', ['He: "no!")  ', "Two"]),
        ("«Oui.» «Non.»", ["«Oui.» ", "«Non.»"]),
        ("3.14 is.it", ["3.14 is.it"]),
        ("a\nb", ["a\n", "b"]),
        ("a. \nb", ["a. \n", "b"]),
        ("a\n\nb", ["a\n", "\n", "b"]),
        ("a.\tb", ["a.\t", "b"]),
        ("a, b; c", ["a, b; c"]),
        ("", []),
    ],
)
def test_where_a_segment_ends(text: str, expected: list[str]) -> None:
    """Marks, closing quotes or brackets and white space end a segment, and so does a line break."""
    assert segments([text]) == expected
    assert segments(ones(text)) == expected


def test_a_boundary_is_certain_with_the_next_character() -> None:
    """White space after a mark may go on; only what follows it closes the segment."""
    cutter = Segments(LONGEST)
    assert [cutter.feed(char) for char in "A. b"] == [[], [], [], ["A. "]]


def test_a_line_break_is_certain_at_once() -> None:
    """Nothing has to follow a line break."""
    assert closed_by(["ab\n"]) == ["ab\n"]


def test_the_maximum_is_reached_with_one_character_more() -> None:
    """A segment of exactly the maximum is still open; one character more closes it at the maximum."""
    assert closed_by(["x" * LONGEST]) == []
    assert closed_by(["x" * (LONGEST + 1)]) == ["x" * LONGEST]
    assert closed_by(ones("x" * (LONGEST + 1))) == ["x" * LONGEST]


def test_the_last_space_within_the_maximum_ends_a_long_segment() -> None:
    """A segment that grows past the maximum ends after the last space within it."""
    assert segments(["aaaa bbbb cccccccccccccc"]) == ["aaaa bbbb ", "cccccccccccccc"]
    assert segments(["a" * 19 + " " + "b"]) == ["a" * 19 + " ", "b"]
    assert segments(["a" * 20 + " " + "b"]) == ["a" * 20, " b"]


def test_a_boundary_at_the_maximum_is_no_later_than_it() -> None:
    """A boundary that ends exactly at the maximum counts; one that ends past it does not."""
    assert segments(["a" * 18 + ". " + "b"]) == ["a" * 18 + ". ", "b"]
    assert segments(["a b" + "a" * 16 + ".  " + "b"]) == ["a ", "b" + "a" * 16 + ".  ", "b"]


@given(TEXTS, st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(1, 30))
def test_the_cutting_does_not_matter(text: str, sizes: list[int], longest: int) -> None:
    """However a text is cut, its segments are the same, and joined they are the text."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        pieces.append(text[at : at + sizes[turn % len(sizes)]])
        at, turn = at + len(pieces[-1]), turn + 1
    whole = segments([text], longest)
    assert segments(pieces, longest) == whole
    assert "".join(whole) == text
    assert all(0 < len(segment) <= longest for segment in whole)


@given(TEXTS)
def test_what_is_closed_does_not_depend_on_what_follows(text: str) -> None:
    """Whatever has been closed of a beginning is closed of every text that begins so."""
    for size in range(0, len(text), 5):
        closed = closed_by([text[:size]])
        assert closed_by([text])[: len(closed)] == closed


RUNS: Final = [".", ". ", " ", ")", ".)", '!"', "a", "\n", "a.\n", "x. y"]


def seconds(pieces: Sequence[str]) -> float:
    began = time.process_time()
    segments(pieces, 1000)
    return time.process_time() - began


@pytest.mark.parametrize("unit", RUNS, ids=ascii)
def test_runs_in_deltas_cost_no_more_than_their_length(unit: str) -> None:
    """No run of marks, brackets, white space or lines costs more than in proportion to its length."""
    run = unit * (160_000 // len(unit))
    assert seconds(pieces_of(run, 4)) < 20


@pytest.mark.parametrize("unit", RUNS, ids=ascii)
def test_runs_in_one_piece_cost_no_more_than_their_length(unit: str) -> None:
    """Eight times the text in one piece costs about eight times as much, not sixty-four times."""
    run = unit * (60_000 // len(unit))
    once, more = seconds([run]), seconds([run * 8])
    assert more < 30 * once + 0.05
