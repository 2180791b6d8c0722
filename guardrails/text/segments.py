"""Cutting a growing text into segments, by a rule that depends on the text alone.

A segment ends after `.`, `!` or `?`, closing quotes or brackets and white space, once the next
character is there, or after a line break. One that grows past the maximum ends after the last space
within it, else at the maximum.
"""

from typing import Final

import regex

_BOUNDARY: Final = regex.compile(r"""[.!?]["'”’»)\]}]*+[^\S\n]++(?=\S)|\n""")
"""From the last mark on; possessive, so that runs of dots or brackets cost no more than their length."""

_UNDECIDED: Final = regex.compile(r"""[.!?]["'”’»)\]}]*+[^\S\n]*+$""")
"""The beginning of a boundary at the end of what is there."""


class Segments:
    """Closes segments of one text as they become certain."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        # What is open, and from where on a boundary is still looked for.
        self._open, self._search_from = "", 0

    def feed(self, piece: str) -> list[str]:
        """Take more text; the segments that it closes."""
        self._open += piece
        closed: list[str] = []
        start = 0
        while end := self._end(start):
            closed.append(self._open[start:end])
            start = end
        self._open, self._search_from = self._open[start:], self._search_from - start
        return closed

    def close(self) -> list[str]:
        """The text is complete; the segment that its end closes, if one is open."""
        rest, self._open = self._open, ""
        return [rest] if rest else []

    def _end(self, start: int) -> int:
        """Where the segment from `start` ends; 0 while that is not certain."""
        limit = start + self._longest
        boundary = _BOUNDARY.search(self._open, max(start, self._search_from), limit + 1)
        if boundary and boundary.end() <= limit:
            self._search_from = boundary.end()
            return boundary.end()
        if len(self._open) <= limit:
            undecided = _UNDECIDED.search(self._open, max(start, self._search_from))
            self._search_from = undecided.start() if undecided else len(self._open)
            return 0
        self._search_from = start
        return self._open.rfind(" ", start, limit) + 1 or limit
