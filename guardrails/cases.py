"""The cases that a configuration carries: what goes in, what must come out, however it is cut."""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeAlias, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    model_validator,
)

from guardrails.chunks import Chunk, ChunkError, ToolCallDelta, dump_chunk, parse_chunk, with_text
from guardrails.files import read_file
from guardrails.pipeline import Pipeline
from guardrails.processor import Finding, Strategy
from guardrails.stream import Result
from guardrails.surfaces import DELTAS, Delta, joinable

MOST_BYTES: Final = 16 * 1024 * 1024
"""How large a file of chunks may be that a case names."""

_INPUTS: Final = ("text", "reasoning", "chunks", "input")
_RUN: Final = "case"
_NAMES: Final = frozenset({"type", "from", "runId"})
"""Keys of a chunk whose strings name and do not say."""


def _given(name: str) -> dict[str, JsonValue]:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExpectedTripwire(_Part):
    """The tripwire that must end the stream; what is left out may be anything."""

    processor: str | None = Field(default=None, description="The id of the processor that blocks.")
    code: str | None = Field(default=None, description="The code in its metadata, `pii.credit_card`.")
    retry: bool | None = Field(default=None, description="Whether it asks for another attempt.")


class ExpectedFinding(_Part):
    """A finding; what is left out may be anything."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    code: str | None = Field(default=None, description="Its code, `pii.credit_card`.")
    label: str | None = Field(default=None, description="Its label, `CREDIT_CARD`.")
    processor: str | None = Field(default=None, description="The id of the processor that found it.")
    strategy: Strategy | None = Field(default=None, description="What became of it.")

    @model_validator(mode="after")
    def _of_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("say at least one thing of the finding")
        return self

    def fits(self, finding: Finding) -> bool:
        """Whether a finding is the one that is meant."""
        said = (finding.code, finding.label, finding.processor_id, finding.strategy)
        wanted = (self.code, self.label, self.processor, self.strategy)
        return all(want in {None, have} for want, have in zip(wanted, said, strict=True))

    def __str__(self) -> str:
        """What is said of it."""
        said = (getattr(self, name) for name in type(self).model_fields)
        return " ".join(str(each) for each in said if each is not None) or "any"


def _finding_of(value: Any) -> Any:
    if isinstance(value, str):
        return {"code": value}
    if not isinstance(value, dict | ExpectedFinding):
        raise ValueError("must be a code, or a mapping with what is to be said of the finding")  # noqa: TRY004 - pydantic
    return value


_FindingOrCode = Annotated[
    ExpectedFinding, BeforeValidator(_finding_of, json_schema_input_type=ExpectedFinding | str)
]


class Expect(_Part):
    """What must come out. A case that says nothing of a tripwire expects none."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["tripwire"]},
                *(_given(name) for name in ("text", "reasoning", "findings")),
                {"required": ["absent"], "properties": {"absent": {"minItems": 1}}},
            ]
        }
    )

    text: str | None = Field(default=None, description="All text that the consumer gets.")
    reasoning: str | None = Field(default=None, description="All reasoning that the consumer gets.")
    tripwire: ExpectedTripwire | None = Field(
        default=None, description="The tripwire that ends the stream; null, or left out, for none."
    )
    findings: tuple[_FindingOrCode, ...] | None = Field(
        default=None, description="All findings in the order of the stream: a code, or what is to be said."
    )
    absent: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="Strings that must stand nowhere in what the consumer gets."
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        given = (self.text, self.reasoning, self.findings, self.absent or None)
        if "tripwire" not in self.model_fields_set and all(each is None for each in given):
            raise ValueError("say at least one thing that is expected")
        return self


Pieces: TypeAlias = str | tuple[str, ...]

_Chunk: TypeAlias = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"required": ["type"], "properties": {"type": {"type": "string"}}}),
]


class Case(_Part):
    """One case: exactly one of `text`, `reasoning`, `chunks` and `input`, and what must come out."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_given(name) for name in _INPUTS]})

    name: str = Field(min_length=1, description="What the case shows.")
    text: Pieces | None = Field(default=None, description="A text, or its pieces.")
    reasoning: Pieces | None = Field(default=None, description="A reasoning, or its pieces.")
    chunks: tuple[_Chunk, ...] | Path | None = Field(
        default=None, description="A stream of chunks, or the file that holds one, a JSON object a line."
    )
    input: Pieces | None = Field(
        default=None, description="What a user says, or its pieces; it goes to `input_processors`."
    )
    expect: Expect = Field(description="What must come out.")

    _stream: tuple[Chunk, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _read(self) -> Self:
        """Read the chunks, so that what is wrong with them shows before anything runs."""
        given = [name for name in _INPUTS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(_INPUTS)}; there are {len(given)}")
        self._stream = tuple(_chunks(self))
        return self

    @property
    def stream(self) -> Sequence[Chunk]:
        """The chunks that go in, cut as they are given."""
        return self._stream


def _chunks(case: Case) -> Iterator[Chunk]:
    if isinstance(case.chunks, Path):
        return _chunks_of(case.chunks)
    if case.chunks is not None:
        return _parsed(case.chunks)
    surface = "reasoning" if case.reasoning is not None else "text"
    pieces = case.text or case.reasoning or case.input or ""
    return _block(surface, [pieces] if isinstance(pieces, str) else pieces)


def _block(surface: str, pieces: Sequence[str]) -> Iterator[Chunk]:
    """The chunks of one text."""
    deltas = ({"type": f"{surface}-delta", "payload": {"id": "1", "text": piece}} for piece in pieces)
    frame = ({"type": f"{surface}-{edge}", "payload": {"id": "1"}} for edge in ("start", "end"))
    start, end = frame
    return (parse_chunk({"runId": _RUN, "from": "AGENT", **chunk}) for chunk in (start, *deltas, end))


def _parsed(chunks: Sequence[dict[str, Any]]) -> Iterator[Chunk]:
    for place, chunk in enumerate(chunks):
        try:
            yield parse_chunk(chunk)
        except ChunkError as error:
            raise ValueError(f"chunks[{place}]: {error}") from None


def _chunks_of(file: Path) -> Iterator[Chunk]:
    try:
        data = read_file(file, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"chunks: {error}") from None
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            if line.strip():
                yield parse_chunk(line)
        except ChunkError as error:
            raise ValueError(f"chunks: line {number}: {error}") from None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one case.

    Attributes:
        name: which case.
        failures: what came out and should not have, or did not and should have; none if it passed.
        cutting: how the texts were cut when that showed.
    """

    name: str
    failures: tuple[str, ...] = ()
    cutting: str = ""


async def run_case(pipeline: Pipeline, case: Case) -> Outcome:
    """Run a case as it is given, uncut, and in several cuttings; the first that fails is told."""
    if case.input is not None:
        pipeline = pipeline.input_pipeline()
    for cutting, stream in cuttings(case.stream):
        # A random run id would be another one each time, and might hold what must be absent.
        async with pipeline.stream(stream, run_id=_RUN) as guarded:
            chunks = [chunk async for chunk in guarded]
        if failures := tuple(_failures(case.expect, guarded.result, chunks)):
            return Outcome(case.name, failures, cutting)
    return Outcome(case.name)


def cuttings(stream: Sequence[Chunk]) -> Iterator[tuple[str, Sequence[Chunk]]]:
    """A stream cut as it is, not at all, and in several other ways, each with its name."""
    yield "as given", stream
    yield "uncut", _recut(stream, repeat(1 << 30))
    for size in range(1, 5):
        yield f"{size} character{'s' if size > 1 else ''} at a time", _recut(stream, repeat(size))
    for seed in range(1, 4):
        yield "at random places", _recut(stream, _random_sizes(seed))


def _random_sizes(seed: int) -> Iterator[int]:
    chance = random.Random(seed)  # noqa: S311 - a cutting that is the same each time
    while True:
        yield chance.randint(1, 12)


def _recut(stream: Sequence[Chunk], sizes: Iterator[int]) -> list[Chunk]:
    """The stream with neighbouring pieces of one text joined and cut anew."""
    joined: list[Chunk] = []
    for chunk in stream:
        if joined and joinable(joined[-1], chunk):
            before, piece = cast("Delta", joined[-1]), cast("Delta", chunk)
            joined[-1] = with_text(before, before.payload.text + piece.payload.text)
        else:
            joined.append(chunk)
    return [piece for chunk in joined for piece in _cut(chunk, sizes)]


def _cut(chunk: Chunk, sizes: Iterator[int]) -> Iterator[Chunk]:
    if type(chunk) not in DELTAS:
        yield chunk
        return
    delta = cast("Delta", chunk)
    text, at = delta.payload.text, 0
    while at < len(text):
        size = next(sizes)
        yield with_text(delta, text[at : at + size])
        at += size


def _failures(expect: Expect, result: Result, chunks: Sequence[Chunk]) -> Iterator[str]:
    """What is not as expected, a sentence each."""
    for name in ("text", "reasoning"):
        wanted, came = getattr(expect, name), getattr(result, name)
        if wanted is not None and came != wanted:
            yield f"the {name} is {came!r}, expected {wanted!r}"
    yield from _of_tripwire(expect.tripwire, result)
    if expect.findings is not None:
        yield from _of_findings(expect.findings, result.findings)
    strings = [result.text, result.reasoning, *_arguments(chunks)]
    strings += [string for chunk in chunks for string in _strings(dump_chunk(chunk))]
    for absent in expect.absent:
        if any(absent in string for string in strings):
            yield f"{absent!r} must not come out, and did"


def _of_tripwire(wanted: ExpectedTripwire | None, result: Result) -> Iterator[str]:
    if result.tripwire is None:
        if wanted is not None:
            yield "nothing was blocked, expected a tripwire"
        return
    said = result.tripwire.payload
    if wanted is None:
        yield f"blocked, expected no tripwire: {said.reason}"
        return
    came = {"processor": said.processor_id, "code": said.code, "retry": bool(said.retry)}
    for name, have in came.items():
        want = getattr(wanted, name)
        if want is not None and want != have:
            yield f"the tripwire's {name} is {_word(have)}, expected {_word(want)}"


def _of_findings(wanted: Sequence[ExpectedFinding], came: Sequence[Finding]) -> Iterator[str]:
    if len(wanted) == len(came) and all(want.fits(have) for want, have in zip(wanted, came, strict=True)):
        return
    codes = ", ".join(finding.code for finding in came) or "none"
    yield f"the findings are {codes}, expected {', '.join(map(str, wanted)) or 'none'}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _arguments(chunks: Sequence[Chunk]) -> Iterable[str]:
    """The arguments of each tool call as they came, in pieces."""
    pieces: dict[str, list[str]] = {}
    for chunk in chunks:
        if isinstance(chunk, ToolCallDelta):
            pieces.setdefault(chunk.payload.tool_call_id, []).append(chunk.payload.args_text_delta)
    return map("".join, pieces.values())


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """All that may be content in a chunk, numbers as they are written in JSON.

    What names it and its own keys are words of the protocol.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, dict):
        for key, below in value.items():
            if depth > 1:
                yield key
            if depth or key not in _NAMES:
                yield from _strings(below, depth + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _strings(below, depth + 1)
