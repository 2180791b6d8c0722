"""What to say to somebody who wrote a word that is none of the valid ones."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final

MOST_SHOWN: Final = 60
"""Characters that a message shows of one word or value."""

_MOST_LISTED: Final = 100
_MOST_COMPARED: Final = 1000
_LONGEST_COMPARED: Final = 100
"""A word that was meant is short, and stands among few: comparing others would take long."""


class ChoiceError(ValueError):
    """A word is none of the valid ones.

    Args:
        said: what is wrong (`there is no preset 'secrts'`).
        word: the word.
        valid: what it could be.
        lead: what stands before the list of the valid ones.

    Attributes:
        nearest: the valid word that was probably meant, if one comes close.
    """

    def __init__(self, said: str, word: object, valid: Iterable[str], lead: str = "choose from") -> None:
        choices = list(valid)
        self.nearest = nearest(word, choices)
        meant = "" if self.nearest is None else f"; did you mean {self.nearest!r}?"
        listed = f"{lead} {listed_words(choices)}" if choices else "there are none"
        super().__init__(f"{said}{meant or ';'} {listed}")


def nearest(word: object, valid: Iterable[str]) -> str | None:
    """The valid word that comes closest to one that is not; None if none comes close."""
    if not isinstance(word, str) or len(word) > _LONGEST_COMPARED:
        return None
    plain = {_plain(choice): choice for choice in islice(valid, _MOST_COMPARED)}
    close = get_close_matches(_plain(word), plain, n=1)
    return plain[close[0]] if close else None


def shortened(text: str) -> str:
    """A text as a message shows it: its beginning, if it is long."""
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def listed_words(words: Sequence[str]) -> str:
    """Words as a message lists them: the first ones, if there are many."""
    more = ", …" if len(words) > _MOST_LISTED else ""
    return ", ".join(map(shortened, words[:_MOST_LISTED])) + more


def _plain(word: str) -> str:
    """The word as one hears it: `Private-Data` and `private_data` are one."""
    return word.casefold().replace("-", "_").replace(" ", "_")
