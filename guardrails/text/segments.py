"""Cutting a growing text into segments, by a rule that depends on the text alone.

A segment ends after `.`, `!` or `?`, closing quotes or brackets and white space, once the next
character is there, or after a line break. One that grows past the maximum ends after the last space
within it, else at the maximum.
"""

from typing import Final

import regex

_BOUNDARY: Final = regex.compile(r"""[.!?]["'”’»)\]}]*+[^\S\n]++(?=\S)|\n""")
"""From the last mark on; possessive, so that runs of dots or brackets cost no more than their length."""


class Segments:
    """Closes segments of one text as they become certain."""

    def __init__(self, longest: int) -> None:
        self._longest, self._open = longest, ""

    def feed(self, piece: str) -> list[str]:
        """Take more text; the segments that it closes."""
        self._open += piece
        closed = []
        while end := self._end():
            closed.append(self._open[:end])
            self._open = self._open[end:]
        return closed

    def close(self) -> list[str]:
        """The text is complete; the segment that its end closes, if one is open."""
        rest, self._open = self._open, ""
        return [rest] if rest else []

    def _end(self) -> int:
        """Where the open segment ends; 0 while that is not certain."""
        boundary = _BOUNDARY.search(self._open, 0, self._longest + 1)
        if boundary and boundary.end() <= self._longest:
            return boundary.end()
        if len(self._open) <= self._longest:
            return 0
        return self._open.rfind(" ", 0, self._longest) + 1 or self._longest
