"""Guards the example streams and shows what came in, what went out, and what happened between.

make demo
"""

import textwrap
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

import anyio

from guardrails import Chunk, Finding, Result, dump_chunk, load_pipeline, parse_chunk

EXAMPLES: Final = Path(__file__).parent
STREAMS: Final = {
    "private": "invented private data, then a key",
    "plain": "a plain text, as an agent sent it",
    "reasoning": "a text after some reasoning",
    "tool_call": "a streamed tool call, whose arguments wait until it is whole",
}
WIDTH: Final = 92
MARGIN: Final = 10
INTRODUCTION: Final = """\
Four streams go through the pipeline of examples/guard.yaml: private data is redacted, and a key ends
the stream. A bar stands where one delta ends and the next one begins. What is held has been taken in
and not let out yet; it is counted each time the next chunk is asked for."""


def main() -> None:
    """Guard each stream and show it."""
    print(textwrap.fill(INTRODUCTION, WIDTH))
    for name, about in STREAMS.items():
        print(f"\n--- {name}.jsonl: {about} ".ljust(WIDTH + 1, "-"))
        anyio.run(show, EXAMPLES / "streams" / f"{name}.jsonl")
    print("\nTry next, and look at the chunks themselves:")
    print("  .venv/bin/guardrails run examples/guard.yaml examples/streams/private.jsonl")


async def show(path: Path) -> None:
    """Guard one recorded stream and print what came of it."""
    taken: list[Chunk] = []
    given: list[Chunk] = []
    found: list[Finding] = []
    held: list[int] = []

    async def source() -> AsyncIterator[Chunk]:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                held.append(characters(taken) - characters(given) - hidden(found))
                taken.append(parse_chunk(line))
                yield taken[-1]

    pipeline = load_pipeline(EXAMPLES / "guard.yaml", on_finding=found.append)
    async with pipeline.stream(source()) as chunks:
        async for chunk in chunks:
            given.append(chunk)  # noqa: PERF401 - the source looks at it meanwhile
    section("in", texts(taken))
    section("out", ["every chunk as it came"] if given == taken else texts(given))
    section("found", [told(finding) for finding in found] or ["nothing"])
    section("ended", [ending(chunks.result), *unread(path, len(taken))])
    section("held", [f"{max(held)} characters at most, {mean(held):.1f} on average"])


def pieces(chunks: Iterable[Chunk]) -> dict[tuple[str, str], list[str]]:
    """The deltas of each text, by what it is and its id."""
    found: dict[tuple[str, str], list[str]] = {}
    for chunk in chunks:
        match dump_chunk(chunk):
            case {"type": "text-delta" | "reasoning-delta" as kind, "payload": {"id": id_, "text": text}}:
                found.setdefault((kind.removesuffix("-delta"), id_), []).append(text)
            case {"type": "tool-call-delta", "payload": {"toolCallId": id_, "argsTextDelta": text}}:
                found.setdefault(("tool", id_), []).append(text)
            case _:
                pass
    return found


def characters(chunks: Iterable[Chunk]) -> int:
    """How many characters the deltas have together."""
    return sum(len(text) for deltas in pieces(chunks).values() for text in deltas)


def hidden(found: Iterable[Finding]) -> int:
    """By how many characters placeholders made what went out shorter; less than 0 if they are longer."""
    return sum(one.end - one.start - len(f"[{one.label}]") for one in found if one.strategy == "redact")


def texts(chunks: Sequence[Chunk]) -> list[str]:
    """Each text as a line, a bar between its deltas."""
    return [f"{kind} {id_}: {visible('|'.join(deltas))}" for (kind, id_), deltas in pieces(chunks).items()]


def visible(text: str) -> str:
    """The text with an escape for each character beyond ASCII, some of which cannot be seen."""
    return text.encode("ascii", "backslashreplace").decode()


def told(finding: Finding) -> str:
    """One finding in words; it does not have the text."""
    place = f"{finding.surface} {finding.channel}, characters {finding.start}-{finding.end}"
    return f"{finding.label} in {place}: {finding.strategy} ({finding.processor_id})"


def ending(result: Result) -> str:
    """How the stream ended."""
    if result.tripwire is None:
        return result.status
    payload = result.tripwire.payload
    return f"{result.status} by {payload.processor_id}, which says: {payload.reason}"


def unread(path: Path, taken: int) -> list[str]:
    """A line about the chunks that nobody asked for, if there are any."""
    left = len(path.read_text(encoding="utf-8").splitlines()) - taken
    return [f"{left} more chunks of the source were never asked for"] if left else []


def section(name: str, lines: Iterable[str]) -> None:
    """Print lines under a name in the margin."""
    indent = " " * MARGIN
    for line in lines:
        print(
            textwrap.fill(
                line, WIDTH, initial_indent=f"{name:>7}   ", subsequent_indent=indent, break_on_hyphens=False
            )
        )
        name = ""


if __name__ == "__main__":
    main()
