r"""The text as detectors read it: compatibility forms folded, invisible characters gone, offsets mapped.

Detectors find `jane\u200b@example.org` and full-width digits in the view; edits are made on the
original, so clean text passes as it came.
"""

import unicodedata
from functools import lru_cache
from typing import Final

import regex

_IGNORABLE: Final = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]")
_DASH: Final = regex.compile(r"[\p{Pd}\u2212]")
_SPACE: Final = regex.compile(r"\p{Zs}")


@lru_cache(maxsize=8192)
def fold(char: str) -> str:
    """What one character reads as: nothing, itself, or its plain form (Unicode NFKC, TR15)."""
    if _IGNORABLE.match(char):
        return ""
    form = unicodedata.normalize("NFKC", char)
    if _DASH.fullmatch(form):
        return "-"
    if unicodedata.decomposition(char).startswith(("<super>", "<sub>")):
        return char  # the mark of a footnote is no part of the number before it
    return " " if _SPACE.fullmatch(form) else form


class View:
    """Folds a growing text and maps offsets of the folded text back to the original.

    Only the part that is still held needs its map: `forget` lets go of the rest.
    """

    __slots__ = ("_map", "_original_end", "_shift", "_start", "_view_end")

    def __init__(self) -> None:
        self._view_end, self._original_end = 0, 0
        # Original offset of each view character from `_start` on; None while both only differ by a shift.
        self._map: list[int] | None = None
        self._start, self._shift = 0, 0

    def feed(self, piece: str) -> str:
        """The next piece of the view."""
        if piece.isascii():
            folded = piece
            if self._map is not None:
                self._map.extend(range(self._original_end, self._original_end + len(piece)))
        else:
            folded = self._fold(piece)
        self._original_end += len(piece)
        self._view_end += len(folded)
        return folded

    def _fold(self, piece: str) -> str:
        folds = [fold(char) for char in piece]
        if self._map is None:
            if all(len(form) == 1 for form in folds):
                return "".join(folds)
            self._map, self._start = [], self._view_end
        for offset, form in enumerate(folds, self._original_end):
            self._map.extend([offset] * len(form))
        return "".join(folds)

    def original(self, offset: int) -> int:
        """The original offset of the character at a view offset; the end of the text for the end."""
        if offset >= self._view_end:
            return self._original_end
        if self._map is None or offset < self._start:
            return offset + self._shift
        return self._map[offset - self._start]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original characters, each whole, that a span of the view covers."""
        return self.original(start), self.original(end - 1) + 1

    def whole(self, end: int) -> int:
        """The view offset at which the original character ends that a span up to `end` has touched."""
        if self._map is None:
            return end
        place = end - self._start
        while 0 < place < len(self._map) and self._map[place] == self._map[place - 1]:
            place += 1
        return self._start + place

    def forget(self, offset: int) -> None:
        """No offset before this one will be asked for."""
        if self._map is None:
            return
        if offset >= self._view_end:
            self._map, self._shift = None, self._original_end - self._view_end
        elif offset > self._start:
            del self._map[: offset - self._start]
            self._start = offset


class RawView(View):
    """The text as it is, for guards that look for invisible characters."""

    __slots__ = ()

    def feed(self, piece: str) -> str:
        """The piece itself."""
        self._original_end += len(piece)
        self._view_end += len(piece)
        return piece
