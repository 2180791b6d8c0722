"""What came of a guarded stream, to be compared; how it ended, and what was logged meanwhile."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from guardrails.chunks import Chunk, Finish, StepFinish, dump_chunk
from guardrails.pipeline import Pipeline
from guardrails.stream import Result
from guardrails.testing.scripts import Dropped, Tape, Transcript, transcript


@dataclass(frozen=True)
class Outcome:
    """What came of one stream: what was read, what was found, and how it ended."""

    read: Transcript
    result: Result
    chunks: Sequence[Chunk]

    @property
    def told(self) -> str:
        """What was read and found, for people."""
        labels = [f"{one.label} {one.start}-{one.end}" for one in self.result.findings]
        return f"{self.result.text!r} ({self.result.status}; found: {', '.join(labels) or 'nothing'})"

    @property
    def comparable(self) -> tuple[Any, ...]:
        """What may not depend on the cutting or on who was faster.

        That a source has told its usage before a refusal was decided may, so the made end is left out.
        """
        tripwire = self.result.tripwire
        kinds = [entry["type"] if isinstance(entry, dict) else "" for entry in self.read]
        return (
            self.read[: kinds.index("tripwire") + 1] if tripwire else self.read,
            kinds,
            self.result.findings,
            self.result.status,
            self.result.text,
            self.result.reasoning,
            tripwire and dump_chunk(tripwire),
        )


async def outcome(pipeline: Pipeline, tape: Tape) -> Outcome:
    """Guard a tape to its end."""
    async with pipeline.stream(tape.play(), run_id="run") as chunks:
        try:
            async for chunk in chunks:
                tape.received.append(chunk)
        except Dropped:
            assert tape.fails_at is not None
    return Outcome(transcript(tape.received), chunks.result, tape.received)


_STEP: Final = "step"
_INPUT: Final = "tool input"
_BLOCKS: Final[Mapping[str, tuple[str, str]]] = {
    kind: (block, does)
    for block, kinds in {
        "text": ("text-start", "text-delta", "text-end"),
        "reasoning": ("reasoning-start", "reasoning-delta", "reasoning-end"),
        _INPUT: (
            "tool-call-input-streaming-start",
            "tool-call-delta",
            "tool-call-input-streaming-end",
        ),
        _STEP: ("step-start", "", "step-finish"),
    }.items()
    for kind, does in zip(kinds, ("opens", "continues", "closes"), strict=True)
}
"""Types of chunks that belong to a block, with its kind and what they do to it."""


def unbalanced(chunks: Sequence[Chunk]) -> list[str]:
    """What is wrong with how a stream and its parts are opened and closed; empty if nothing is.

    Texts, reasoning, tool input and steps are blocks: each is opened, holds its pieces and is closed; none is
    opened while it is open. The tripwire, if there is one, comes when only a step may still be open. Then the
    step is closed and the stream finished, unless they are already, in its name, and nothing else comes.

    Args:
        chunks: all that a consumer received of a stream that it read to the end.
    """
    kinds = [chunk.type for chunk in chunks]
    at = kinds.index("tripwire") if "tripwire" in kinds else len(kinds)
    faults: list[str] = []
    left: list[str] = []
    for chunk in chunks[:at]:
        block, does = _block_of(chunk)
        if block and (block in left) == (does == "opens"):
            state = "open" if block in left else "not open"
            faults.append(f"{chunk.type} came while the {block} was {state}")
        if does == "opens":
            left.append(block)
        elif does == "closes" and block in left:
            left.remove(block)
    if at < len(kinds):
        faults += _ending_faults(chunks, at, in_step=_STEP in left)
        left = [block for block in left if block != _STEP]
    return [*faults, *(f"the {block} was left open" for block in left)]


def _block_of(chunk: Chunk) -> tuple[str, str]:
    """The block that a chunk belongs to, and what it does to it; nothing for most."""
    block, does = _BLOCKS.get(chunk.type, ("", ""))
    if block in ("", _STEP):
        return block, does
    payload: Any = chunk.payload  # type: ignore[union-attr]  # all of these types have one
    return f"{block} {payload.tool_call_id if block == _INPUT else payload.id}", does


def _ending_faults(chunks: Sequence[Chunk], at: int, *, in_step: bool) -> Iterator[str]:
    """What is wrong with the tripwire, which is at this place, and with what follows it."""
    frame = [chunk.type for chunk in chunks[:at] if chunk.type in ("start", "step-start", "finish")]
    wanted = [*["step-finish"] * in_step, *["finish"] * (frame[-1:] != ["finish"])]
    came = [chunk.type for chunk in chunks[at + 1 :]]
    if came != wanted:
        yield f"after the tripwire came {came}, not {wanted}"
    for chunk in chunks[at:]:
        if not (chunk.run_id and chunk.from_):
            yield f"the {chunk.type} of the ending names no run"
        if isinstance(chunk, StepFinish | Finish):
            result = chunk.payload.step_result
            if result is None or result.reason != "tripwire":
                yield f"the {chunk.type} of the ending has another reason"


@contextmanager
def logged() -> Iterator[list[str]]:
    """The lines that the library logs meanwhile, at every level."""
    lines: list[str] = []
    handler = logging.Handler()
    # With the arguments, which other formats may show.
    handler.emit = lambda record: lines.append(f"{record.getMessage()} {record.args!r}")  # type: ignore[method-assign]
    logger = logging.getLogger("guardrails")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
