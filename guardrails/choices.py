"""What to say to somebody who wrote a word that is none of the valid ones."""

from collections.abc import Iterable
from difflib import get_close_matches


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
        listed = f"{lead} {', '.join(choices)}" if choices else "there are none"
        super().__init__(f"{said}{meant or ';'} {listed}")


def nearest(word: object, valid: Iterable[str]) -> str | None:
    """The valid word that comes closest to one that is not; None if none comes close."""
    if not isinstance(word, str):
        return None
    plain = {_plain(choice): choice for choice in valid}
    close = get_close_matches(_plain(word), plain, n=1)
    return plain[close[0]] if close else None


def _plain(word: str) -> str:
    """The word as one hears it: `Private-Data` and `private_data` are one."""
    return word.casefold().replace("-", "_").replace(" ", "_")
