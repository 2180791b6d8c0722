"""Prints what the README states: cost as ratios to the bare scan in the same run, hold-back, leaks, growth.

make bench
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import anyio

from benchmarks import texts
from benchmarks.bare_scan import BareScan
from guardrails import Pipeline, Processor
from guardrails.chunks import Chunk, TextDelta, TextDeltaPayload
from guardrails.testing import Idle
from processors.keywords import Keywords
from processors.regex import Regex, Rule

ROUNDS = 7
DELTAS = 20_000
TRAP = 250_000


def rules(patterns: Iterable[tuple[str, str]]) -> Regex:
    """A regex processor with rules of one's own."""
    return Regex(rules=tuple(Rule(name=name, pattern=pattern) for name, pattern in patterns))


def deltas(pieces: Sequence[str]) -> list[Chunk]:
    """Strings as text deltas."""
    return [
        TextDelta(run_id="run", from_="AGENT", payload=TextDeltaPayload(id="t", text=piece))
        for piece in pieces
    ]


def row(name: str, figure: str) -> None:
    """Print one figure."""
    print(f"{name:42s} {figure}")


def cost(processors: Sequence[Processor], chunks: Iterable[Chunk]) -> float:
    """Microseconds for each chunk that a pipeline takes from a source, with a consumer that does nothing."""
    taken = 0

    def source() -> Iterator[Chunk]:
        nonlocal taken
        for chunk in chunks:
            taken += 1
            yield chunk

    async def consume() -> float:
        start = time.perf_counter()
        async with Pipeline(processors).stream(source(), collect=False) as stream:
            async for _ in stream:
                pass
        return time.perf_counter() - start

    return anyio.run(consume) / taken * 1e6


def bare_cost(pieces: Sequence[str]) -> float:
    """Microseconds a delta of the bare scan."""
    scan = BareScan(list(texts.FOUR_PATTERNS.values()))
    start = time.perf_counter()
    for piece in pieces:
        scan.feed(piece)
    return (time.perf_counter() - start) / len(pieces) * 1e6


def median(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    """The median of some runs."""
    return statistics.median(measure() for _ in range(rounds))


def redaction() -> None:
    """Redaction on clean prose beside the bare scan."""
    pieces = texts.pieces(texts.prose(DELTAS * 4), 4)
    chunks = deltas(pieces)
    four = [rules(texts.FOUR_PATTERNS.items())]
    pairs = [(bare_cost(pieces), cost(four, chunks)) for _ in range(ROUNDS)]
    bare, guarded = (statistics.median(costs) for costs in zip(*pairs, strict=True))
    ratio = statistics.median(slow / fast for fast, slow in pairs)
    row("bare scan, four patterns", f"{bare:.2f} µs a delta")
    row("regex, the same four as rules", f"{guarded:.2f} µs a delta = {ratio:.1f} x bare scan")
    for presets in texts.PRESETS:
        processor = Regex(presets=presets)
        name = f"regex, {' and '.join(presets)}: {len(processor.patterns())} patterns"
        row(name, f"{median(partial(cost, [processor], chunks)):.2f} µs a delta")


def keywords() -> None:
    """Many terms beside few."""
    chunks = deltas(texts.pieces(texts.prose(DELTAS * 4), 4))
    few, many = (Keywords(terms=texts.terms(count)) for count in (10, 10_000))
    pairs = [(cost([few], chunks), cost([many], chunks)) for _ in range(ROUNDS)]
    less, more = (statistics.median(costs) for costs in zip(*pairs, strict=True))
    ratio = statistics.median(slow / fast for fast, slow in pairs)
    row("keywords, 10 and 10,000 terms", f"{less:.2f} and {more:.2f} µs a delta = {ratio:.1f} x 10 terms")


async def leak_and_hold() -> None:
    """What leaks in nine cuttings, of a long key and of a key block; what is held of clean prose."""
    pipeline = Pipeline([rules(texts.FOUR_PATTERNS.items())])
    text = texts.prose(390) + texts.PRIVATE + ". " + texts.prose(780)
    leaking = 0
    for cut in texts.cuttings(text).values():
        result = await pipeline.run(deltas(cut))
        leaking += any(leaked(secret, result.text) for secret in texts.SECRETS.values())
    row("leaking cuttings of nine", f"{leaking}")
    for name, secret in (("key", texts.KEY), ("private-key block", texts.PEM)):
        text = texts.prose(390) + "The key is " + secret + " ok. " + texts.prose(780)
        result = await pipeline.run(deltas(texts.pieces(text, 4)))
        row(f"leaked of a {name}", f"{leaked(secret, result.text)} of {len(secret)} characters")
    held = await held_characters(pipeline, texts.pieces(texts.prose(4000), 4))
    row("held of clean prose", f"{statistics.mean(held):.1f} characters on average, {max(held)} at most")


def leaked(secret: str, text: str) -> int:
    """Characters of the longest piece of a secret that got out; fewer than four are no piece of it."""
    shared = texts.longest_common(secret, text)
    return shared if shared >= 4 else 0


async def held_characters(pipeline: Pipeline, pieces: Sequence[str]) -> list[int]:
    """How many characters are held when each next delta is asked for."""
    held: list[int] = []
    taken = given = 0

    def source() -> Iterable[Chunk]:
        nonlocal taken
        for chunk, piece in zip(deltas(pieces), pieces, strict=True):
            held.append(taken - given)
            taken += len(piece)
            yield chunk

    async with pipeline.stream(source()) as stream:
        async for chunk in stream:
            given += len(chunk.payload.text) if isinstance(chunk, TextDelta) else 0
    return held[5:]


def idle() -> None:
    """A chunk through processors that do nothing."""
    chunks = deltas(["text"] * DELTAS)
    costs = {}
    for count in (0, 1, 10, 50):
        processors = [Idle(id=str(number)) for number in range(count)]
        costs[count] = median(partial(cost, processors, chunks))
        row(f"a chunk through {count} idle processors", f"{costs[count]:.2f} µs")
    row("  that is, for n of them", f"{costs[0]:.2f} + {(costs[50] - costs[0]) / 50:.2f} n µs")


def traps() -> None:
    """A quarter of a megabyte of what a naive search is slow on."""
    four = rules(texts.FOUR_PATTERNS.items())
    some, every = Regex(presets=texts.PRESETS[0]), Regex(presets=texts.PRESETS[-1])
    for name, unit in texts.TRAPS.items():
        text = (unit * (TRAP // len(unit) + 1))[:TRAP]
        costs = [cost([processor], deltas(texts.pieces(text, 4))) for processor in (four, some, every)]
        figures = "four rules {:.1f}, private-data {:.1f}, all presets {:.1f} µs a delta".format(*costs)
        row(f"{TRAP:,d} characters of {name}", figures)


def growth() -> None:
    """Cost and memory against the length of a stream."""
    some = deltas(texts.pieces(texts.prose(4000), 4))
    for count in (10_000, 100_000, 1_000_000):
        source = (some[number % len(some)] for number in range(count))
        each = cost([rules(texts.FOUR_PATTERNS.items())], source)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        row(f"a stream of {count:,d} deltas", f"{each:.2f} µs a delta, peak memory {peak:.0f} MB")


def imports() -> None:
    """Import time beyond what the dependencies take."""
    base = median(partial(import_seconds, "pydantic, anyio, regex"))
    ours = median(partial(import_seconds, "pydantic, anyio, regex, guardrails"))
    row("import guardrails", f"{(ours - base) * 1000:.0f} ms beyond pydantic, anyio and regex")


def import_seconds(names: str) -> float:
    """Seconds that a fresh interpreter takes for an import."""
    code = f"import time; start = time.perf_counter(); import {names}; print(time.perf_counter() - start)"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)  # noqa: S603 - ours


def main() -> None:
    """Run everything; memory first, while nothing else has used any."""
    growth()
    redaction()
    keywords()
    anyio.run(leak_and_hold)
    idle()
    traps()
    imports()


if __name__ == "__main__":
    main()
