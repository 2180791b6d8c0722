"""What came of a guarded stream, to be compared, and what was logged meanwhile."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from guardrails.chunks import Chunk, dump_chunk
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
