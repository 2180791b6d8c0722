"""Finding literal terms, any number of them, in a growing text; what is undecided is held exactly.

An Aho-Corasick automaton finds terms as fast, but the libraries that have one do not tell how deep it stands
in a term, and that is what must be held; a pattern of ten thousand branches takes seconds to compile.

Terms and text are compared as a `WordView` shows them. The terms stand sorted, so that one binary search
answers both questions about a place: which terms end in the text that follows it, and whether that text may
still become a longer one. It takes as long with a hundred thousand terms as with a thousand, but for a few
comparisons.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

import regex

from guardrails.text.scan import Buffer, Sought, Span

_UNSPACED: Final = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    r"\u30fc\u302a-\u302f\u3099\u309a"  # what lengthens, tones and voices these, but counts as common
)
_WORD: Final = regex.compile(rf"(?V1)[[\w\p{{M}}]--[{_UNSPACED}]]")
_WITHIN: Final = regex.compile(r"[\p{M}\u1160-\u11ff\ud7b0-\ud7ff]")

_UNDECIDED: Final = -1


@lru_cache(maxsize=8192)
def in_word(char: str) -> bool:
    """Whether words are told by what stands beside such a character: letters, digits, `_`, accents.

    Not those of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese: words are written there without
    spaces, or have their particles attached.
    """
    return _WORD.match(char) is not None


@lru_cache(maxsize=8192)
def within_character(char: str) -> bool:
    """Whether it goes on with the character before: accents, and vowels and finals of a Hangul syllable."""
    return _WITHIN.match(char) is not None


class Terms:
    """Terms to look for, and what a finding of any of them says.

    The longest that is there wins. It ends where a character ends: `cafe` is not in `café`.

    Args:
        terms: the terms as the view shows them, each at least one character long; doubled ones are one.
        sought: what a finding says.
        words: whether they are whole words: no word goes on before or after a term, where that begins or
            ends with a character of a word (see `in_word`).
    """

    def __init__(self, terms: Iterable[str], sought: Sought, *, words: bool) -> None:
        self._terms = sorted(set(terms))
        self._shorter = _beginnings(self._terms)
        self._firsts = frozenset(term[0] for term in self._terms)
        self._begin_words = frozenset(filter(in_word, self._firsts if words else ()))
        self._words = words
        self.sought = sought
        self.longest = max(map(len, self._terms))

    def scan(self, seconds: float | None, whole: Callable[[int], int]) -> "TermScan":
        """A scan of one text; its cost is known, so no time limit is needed."""
        del seconds
        return TermScan(self, whole)

    def next_start(self, text: str, at: int) -> int:
        """The first place from `at` on where a term may begin; the end of the text if there is none."""
        firsts, begin_words = self._firsts, self._begin_words
        for place in range(at, len(text)):
            char = text[place]
            if char in firsts and not (char in begin_words and place and in_word(text[place - 1])):
                return place
        return len(text)

    def end(self, text: str, at: int, *, final: bool) -> int:
        """Where the longest term ends that begins at a place; the place itself if none does.

        At most log2 of the number of terms comparisons, and one for each term that others begin with; none
        looks at more characters than the longest term has.

        Args:
            text: the text so far.
            at: the place.
            final: whether the text is complete; otherwise -1 says that it depends on what follows.
        """
        terms, rest = self._terms, text[at : at + self.longest]
        place = bisect_left(terms, rest)
        at_end = not final and at + len(rest) == len(text)
        if at_end and place < len(terms) and terms[place].startswith(rest):
            return _UNDECIDED
        if place == len(terms) or terms[place] != rest:
            place -= 1
        # Whatever stands between a beginning of `rest` and `rest` itself begins with it, too. So all terms
        # that `rest` begins with are the greatest before it, and those that this one begins with.
        while place >= 0:
            term = terms[place]
            if rest.startswith(term) and self._may_end(text, at + len(term)):
                return at + len(term)
            place = self._shorter[place]
        return at

    def _may_end(self, text: str, end: int) -> bool:
        if end == len(text):
            return True
        following = text[end]
        goes_on = self._words and in_word(following) and in_word(text[end - 1])
        return not goes_on and not within_character(following)


def _beginnings(terms: Sequence[str]) -> list[int]:
    """For each of some sorted terms, the place of the longest other term that it begins with, or -1."""
    places: list[int] = []
    open_: list[int] = []
    for place, term in enumerate(terms):
        while open_ and not term.startswith(terms[open_[-1]]):
            open_.pop()
        places.append(open_[-1] if open_ else -1)
        open_.append(place)
    return places


class TermScan(Buffer):
    """One text, scanned for terms.

    What is held is what a term begins with, or a term that may still be a longer one or part of a longer
    word; so at most as many characters as the longest term has.

    Args:
        terms: the terms.
        whole: rounds the end of a match up to where the original character ends.
    """

    def __init__(self, terms: Terms, whole: Callable[[int], int] = int) -> None:
        super().__init__(1)
        self._terms, self._whole = terms, whole

    def feed(self, piece: str, spans: list[Span], *, ask: bool = False, last: bool = False) -> None:
        """Take more text; see `PatternScan.feed`."""
        del ask
        self._text += piece
        self._advance(spans, final=last)

    def _advance(self, spans: list[Span], *, final: bool) -> None:
        text, terms, at = self._text, self._terms, self._at
        while (start := terms.next_start(text, at)) < len(text):
            end = terms.end(text, start, final=final)
            if end == _UNDECIDED:
                break
            at = start + 1
            if end > start:
                at = self._whole(self._base + end) - self._base
                spans.append(Span(self._base + start, self._base + at, terms.sought))
        self._settle(start)
