"""Reads a guarded stream chunk by chunk, as a consumer does that shows it to a person.

python examples/reading_loop.py
"""

import json
import sys
from collections.abc import AsyncIterable, Iterator
from pathlib import Path
from typing import Final

import anyio

from guardrails import Chunk, Result, load_pipeline
from guardrails.chunks import (
    ChunkError,
    Error,
    Finish,
    Goal,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolResult,
    Tripwire,
    parse_chunk,
)

EXAMPLES: Final = Path(__file__).parent
STREAMS: Final = ("tool_call", "reasoning", "private")


def main() -> None:
    """Read each stream."""
    for name in STREAMS:
        print(f"--- {name}.jsonl")
        result = anyio.run(guarded, EXAMPLES / "streams" / f"{name}.jsonl")
        print(f"({result.status}, {len(result.findings)} findings)\n")


async def guarded(path: Path) -> Result:
    """Guard a recorded stream and read it. Leaving the block closes the source, whatever happens in it."""
    async with load_pipeline(EXAMPLES / "guard.yaml").stream(recorded(path)) as chunks:
        await read(chunks)
    return chunks.result


def recorded(path: Path) -> Iterator[Chunk]:
    """The chunks of a file, one a line."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield parse_chunk(line)
            except ChunkError as error:
                sys.exit(f"{path}:{number}: {error}")


async def read(stream: AsyncIterable[Chunk]) -> None:  # noqa: C901 - a case for each type that it knows
    """The loop: what a consumer knows it shows, everything else it passes over."""
    async for chunk in stream:
        match chunk:
            case ReasoningStart():
                print("[thinks] ", end="")
            case TextDelta(payload=payload) | ReasoningDelta(payload=payload):
                print(payload.text, end="", flush=True)
            case TextEnd() | ReasoningEnd():
                print()
            case ToolCall(payload=payload):
                print(f"[calls {payload.tool_name} with {json.dumps(payload.args)}]")
            case ToolResult(payload=payload):
                print(f"[{payload.tool_name} returned {json.dumps(payload.result)}]")
            case Tripwire(payload=payload):
                print(f"[blocked by {payload.processor_id}: {payload.reason}]")
            case Goal(payload=payload):
                print(f"[goal, run {payload.iteration} of {payload.max_runs}: {payload.status}]")
            case Error(payload=payload):
                print(f"[error: {payload.error}]")
            case Finish(payload=payload):
                reason = payload.step_result.reason if payload.step_result else "unknown"
                usage = payload.output.usage if payload.output else None
                print(f"[finished: {reason}, {usage.total_tokens if usage else 'unknown'} tokens]")
            case _:
                pass


if __name__ == "__main__":
    main()
