"""Field cases as they stand in the files; a key that nobody checks is refused."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]
"""A JSON object."""

HERE: Final = Path(__file__).parent
OPEN: Final = HERE / "open.jsonl"
OWN: Final = HERE / "own.jsonl"

_REMARKS: Final = frozenset({"split", "policy", "source_url", "note"})
"""Keys of a case that say where it comes from, and nothing that can be checked."""


class UnknownKeyError(Exception):
    """A case says something that the harness does not know, so that it would stay unchecked."""


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        id: its name.
        kind: what goes wrong where it fails.
        title: what it is about.
        config: the processors, in words of the cases.
        chunks: what the source gives, as JSON.
        expect: what must come out.
        harness: what the consumer does besides reading.
    """

    id: str
    kind: str
    title: str
    config: Json
    chunks: Sequence[Json]
    expect: Json
    harness: Json = field(default_factory=dict)


def known(what: str, given: Iterable[str], keys: Collection[str]) -> None:
    """Refuse keys that nobody looks at.

    Raises:
        UnknownKeyError: there is one.
    """
    unknown = sorted(set(given) - set(keys))
    if unknown:
        raise UnknownKeyError(f"{what}: unknown {', '.join(unknown)}; known are {', '.join(sorted(keys))}")


def case_of(line: Json) -> Case:
    """The case of a line.

    Raises:
        UnknownKeyError: the line has a key that no case has.
    """
    known(f"case {line.get('id')}", line, {*Case.__dataclass_fields__, *_REMARKS})
    return Case(**{key: value for key, value in line.items() if key not in _REMARKS})


def cases_of(*files: Path) -> list[Case]:
    """The cases of files with one JSON object a line."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [case_of(json.loads(line)) for line in lines]
