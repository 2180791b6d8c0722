"""What is wrong with a configuration: each problem with its place, all of them in one exception."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from guardrails.choices import shortened

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead to a value."""

MOST_TOLD: Final = 100
"""How many problems of one configuration are told; of the others, how many there are."""

LONGEST_MESSAGE: Final = 2000
"""Characters that a message may have."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration; as a string it is one line.

    Attributes:
        message: what is wrong and what would be right.
        keys: the keys and positions that lead there (`output_processors[0].rules[1].name`); empty for the
            file as a whole.
        file: which file; None for a mapping.
        line: counted from 1; None if there is no such place in the file.
        column: counted from 1, in characters.
        nearest: the valid word that was probably meant where one is misspelt.
    """

    message: str
    keys: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    nearest: str | None = None

    def __str__(self) -> str:
        """The place, the keys and the message."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.keys, self.message) if part)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


class ConfigError(ValueError):
    """A configuration cannot be used. The message has a line for each problem.

    Attributes:
        problems: all that is wrong, in the order of the file.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its problems."""
        return type(self), (self.problems,)


def written(path: Path) -> str:
    """Keys and positions as one writes them: `output_processors[0].rules[1].name`."""
    keys = ""
    for part in path:
        if isinstance(part, str) and _NAME.fullmatch(part):
            keys += f".{shortened(part)}"
        else:
            keys += f"[{shortened(repr(part))}]"
    return keys.removeprefix(".")
