r"""The text as detectors read it: compatibility forms folded, invisible characters gone, offsets mapped.

Detectors find `jane\u200b@example.org` and full-width digits in the view; edits are made on the
original, so clean text passes as it came.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import regex

_IGNORABLE: Final = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]")
_DASH: Final = regex.compile(r"[\p{Pd}\u2212]")
_SPACE: Final = regex.compile(r"\p{Zs}")
_APOSTROPHES: Final = {0x2019: "'", 0x02BC: "'"}


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


@lru_cache(maxsize=8192)
def fold_accents(char: str) -> str:
    """What one character reads as where accents stand apart from their letters: `é` is `e` and its accent.

    White space of any kind, line breaks included, is a space, and any apostrophe is the plain one.
    """
    if char.isspace():
        return " "
    return unicodedata.normalize("NFD", fold(char)).translate(_APOSTROPHES)


@lru_cache(maxsize=8192)
def fold_case(char: str) -> str:
    """The same without case (full case folding, Unicode 3.13): `ß` is `ss`, as `SS` is."""
    return unicodedata.normalize("NFD", fold_accents(char).casefold())


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
        if not piece.isascii():
            return self._take([fold(char) for char in piece])
        if self._map is not None:
            self._map.extend(range(self._original_end, self._original_end + len(piece)))
        self._original_end += len(piece)
        self._view_end += len(piece)
        return piece

    def _take(self, forms: Sequence[str]) -> str:
        """The piece whose characters read as these forms."""
        folded = "".join(forms)
        if self._map is None and any(len(form) != 1 for form in forms):
            self._map, self._start = [], self._view_end
        if self._map is not None:
            for offset, form in enumerate(forms, self._original_end):
                self._map.extend([offset] * len(form))
        self._original_end += len(forms)
        self._view_end += len(folded)
        return folded

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


class WordView(View):
    """The text as words: besides, accents stand apart, and any run of white space is one space.

    Accents are taken apart character by character and keep the order in which they came, so letters with
    several of them read alike where these were written in the same order.

    Args:
        case: whether upper and lower case differ.
    """

    __slots__ = ("_case", "_spaced")

    def __init__(self, *, case: bool = False) -> None:
        super().__init__()
        self._case, self._spaced = case, False

    def feed(self, piece: str) -> str:
        """The next piece of the view."""
        alike = piece.isascii() and piece.isprintable() and "  " not in piece
        if not alike or (self._spaced and piece.startswith(" ")):
            return self._take(self._forms(piece))
        if piece:
            self._spaced = piece[-1] == " "
        return super().feed(piece if self._case else piece.lower())

    def _forms(self, piece: str) -> list[str]:
        """What each character reads as; of a run of white space, only the first is there."""
        forms = []
        for char in piece:
            form = fold_accents(char) if self._case else fold_case(char)
            if self._spaced and form.startswith(" "):
                form = form[1:]
            if form:
                self._spaced = form[-1] == " "
            forms.append(form)
        return forms
