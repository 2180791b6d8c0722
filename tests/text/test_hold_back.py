"""Exact hold-back: whatever the pattern, text and cutting, the matches are those of the whole text."""

import os
import time
from collections.abc import Iterator
from random import Random

import pytest
import regex

from guardrails.text.pattern import Pattern
from guardrails.text.scan import Joined, PatternScan, Span
from tests.text import random_patterns

FLAGS = ["", "", "", "i", "m", "s", "im"]


def whole_text_spans(pattern: str, flags: str, text: str) -> list[tuple[int, int]]:
    """What the engine itself finds in the whole text."""
    found = regex.finditer(f"(?{flags}:{pattern})" if flags else pattern, text, timeout=1.0)
    return [match.span() for match in found]


def streamed_spans(joined: Joined, pieces: list[str]) -> list[tuple[int, int]]:
    """What a scan finds in the pieces."""
    scan = PatternScan(joined, 1.0)
    spans: list[Span] = []
    for piece in pieces:
        scan.feed(piece, spans)
    scan.feed("", spans, last=True)
    return [(span.start, span.end) for span in spans]


def exact_patterns(random: Random) -> Iterator[tuple[str, str, Joined]]:
    """Random patterns that are held exactly."""
    while True:
        pattern, flags = random_patterns.pattern(random), random.choice(FLAGS)
        try:
            yield pattern, flags, Joined([Pattern("X", pattern, "x", flags)])
        except ValueError:
            continue


def compare(random: Random, pattern: str, flags: str, joined: Joined, texts: int) -> None:
    """Streamed and whole must agree on random texts in random cuttings."""
    for _ in range(texts):
        text = random_patterns.text(random)
        try:
            expected = whole_text_spans(pattern, flags, text)
        except TimeoutError:
            return
        pieces = random_patterns.cutting(random, text)
        assert streamed_spans(joined, pieces) == expected, (pattern, flags, pieces)


@pytest.mark.parametrize("seed", range(4))
def test_streamed_matches_are_those_of_the_whole_text(seed: int) -> None:
    """Random patterns of the allowed constructs find in pieces exactly what they find in the whole text."""
    random = Random(seed)
    patterns = exact_patterns(random)
    for _ in range(400):
        compare(random, *next(patterns), texts=25)


@pytest.mark.fuzz
def test_streamed_matches_are_those_of_the_whole_text_at_length() -> None:
    """The same for as long as FUZZ_SECONDS says, from a seed of the clock."""
    seed = time.time_ns()
    print(f"seed {seed}")  # noqa: T201 - what a failure is repeated with
    random, ends = Random(seed), time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60"))
    for number, pattern in enumerate(exact_patterns(random)):
        compare(random, *pattern, texts=60)
        if time.monotonic() > ends:
            print(f"{number + 1} patterns")  # noqa: T201 - the evidence
            return
