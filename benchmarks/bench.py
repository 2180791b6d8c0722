"""Prints what the README states: cost as ratios to the bare scan in the same run, hold-back, leaks, growth.

make bench
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent))

import texts
from bare_scan import BareScan

from guardrails import Pipeline, Processor
from guardrails.chunks import Chunk, TextDelta, TextDeltaPayload
from guardrails.testing import Idle
from processors.regex import Regex, Rule

ROUNDS = 7
DELTAS = 20_000


def rules(patterns: Iterable[tuple[str, str]]) -> Regex:
    """A regex processor with rules of one's own."""
    return Regex(rules=tuple(Rule(name=name, pattern=pattern) for name, pattern in patterns))


def deltas(pieces: Sequence[str]) -> list[Chunk]:
    """Strings as text deltas."""
    return [
        TextDelta(run_id="run", from_="AGENT", payload=TextDeltaPayload(id="t", text=piece))
        for piece in pieces
    ]


def guarded_seconds(processors: Sequence[Processor], chunks: Sequence[Chunk]) -> float:
    """How long a pipeline takes to pass chunks to a consumer that does nothing."""

    async def consume() -> float:
        start = time.perf_counter()
        async with Pipeline(processors).stream(chunks, collect=False) as stream:
            async for _ in stream:
                pass
        return time.perf_counter() - start

    return anyio.run(consume)


def bare_seconds(pieces: Sequence[str]) -> float:
    """How long the bare scan takes for the same text."""
    scan = BareScan(list(texts.FOUR_PATTERNS.values()))
    start = time.perf_counter()
    for piece in pieces:
        scan.feed(piece)
    return time.perf_counter() - start


def median(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    """The median of some runs."""
    return statistics.median(measure() for _ in range(rounds))


def redaction() -> None:
    """Redaction on clean prose beside the bare scan."""
    pieces = texts.pieces(texts.prose(DELTAS * 4), 4)
    chunks = deltas(pieces)
    processors = [rules(texts.FOUR_PATTERNS.items())]
    pairs = [(bare_seconds(pieces), guarded_seconds(processors, chunks)) for _ in range(ROUNDS)]
    bare, guarded = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(slow / fast for fast, slow in pairs)
    print(f"bare scan, four patterns            {bare / DELTAS * 1e6:7.2f} µs a delta")
    print(
        f"regex, the same four as rules       {guarded / DELTAS * 1e6:7.2f} µs a delta = {ratio:.1f} x bare scan"
    )
    preset = Regex(presets=("private-data",))
    cost = median(lambda: guarded_seconds([preset], chunks)) / DELTAS * 1e6
    print(f"regex, preset private-data          {cost:7.2f} µs a delta")
    sixty = Regex(
        presets=("private-data",),
        rules=tuple(Rule(name=f"k{i}", pattern=pattern) for i, pattern in enumerate(texts.many_patterns())),
    )
    cost = median(lambda: guarded_seconds([sixty], chunks), 3) / DELTAS * 1e6
    print(f"regex, {len(sixty.patterns())} patterns                  {cost:7.2f} µs a delta")


async def leak_and_hold() -> None:
    """What leaks in nine cuttings, of a long key and of a key block; what is held of clean prose."""
    pipeline = Pipeline([rules(texts.FOUR_PATTERNS.items())])
    text = texts.prose(390) + texts.PRIVATE + ". " + texts.prose(780)
    leaking = 0
    for cut in texts.cuttings(text).values():
        result = await pipeline.run(deltas(cut))
        leaking += any(texts.longest_common(secret, result.text) >= 4 for secret in texts.SECRETS.values())
    print(f"leaking cuttings of nine            {leaking:7d}")
    for name, secret in (("key", texts.KEY), ("private-key block", texts.PEM)):
        text = texts.prose(390) + "The key is " + secret + " ok. " + texts.prose(780)
        result = await pipeline.run(deltas(texts.pieces(text, 4)))
        shared = texts.longest_common(secret, result.text)
        print(
            f"leaked of a {name + ' of ' + str(len(secret)) + ' characters':38s} {shared if shared >= 4 else 0}"
        )
    held = await held_characters(pipeline, texts.pieces(texts.prose(4000), 4))
    print(f"held of clean prose, mean and most  {statistics.mean(held):7.1f} {max(held)} characters")


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
    counts = (0, 1, 10, 50)
    costs = {
        count: median(lambda count=count: guarded_seconds([Idle(id=str(n)) for n in range(count)], chunks))
        for count in counts
    }
    each = (costs[50] - costs[0]) / 50
    for count in counts:
        print(f"a chunk through {count:2d} idle processors  {costs[count] / DELTAS * 1e6:7.2f} µs")
    print(f"  = {costs[0] / DELTAS * 1e6:.2f} + {each / DELTAS * 1e6:.2f} n µs")


def traps() -> None:
    """A megabyte of what a naive search is slow on."""
    processors = {
        "four rules": rules(texts.FOUR_PATTERNS.items()),
        "private-data": Regex(presets=("private-data",)),
    }
    for name, unit in texts.TRAPS.items():
        chunks = deltas(texts.pieces((unit * (1_000_000 // len(unit) + 1))[:1_000_000], 4))
        costs = {
            label: guarded_seconds([processor], chunks) / len(chunks) * 1e6
            for label, processor in processors.items()
        }
        told = ", ".join(f"{label} {cost:.1f}" for label, cost in costs.items())
        print(f"a megabyte of {name:8s} µs a delta     {told}")


def growth() -> None:
    """Cost and memory against the length of a stream."""
    delta = deltas(texts.pieces(texts.prose(4000), 4))
    for count in (10_000, 100_000, 1_000_000):
        source = (delta[number % len(delta)] for number in range(count))
        seconds = guarded_seconds([rules(texts.FOUR_PATTERNS.items())], source)  # type: ignore[arg-type]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{count:9,d} deltas                   {seconds / count * 1e6:7.2f} µs a delta, peak memory {peak:.0f} MB"
        )


def imports() -> None:
    """Import time beyond what the dependencies take."""
    base, ours = (
        median(lambda names=names: _import_seconds(names), 5)
        for names in ("pydantic, anyio, regex", "pydantic, anyio, regex, guardrails")
    )
    print(
        f"import guardrails                   {(ours - base) * 1000:7.0f} ms beyond pydantic, anyio and regex"
    )


def _import_seconds(names: str) -> float:
    code = f"import time; start = time.perf_counter(); import {names}; print(time.perf_counter() - start)"
    return float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    )


def main() -> None:
    """Run everything."""
    # growth()
    redaction()
    anyio.run(leak_and_hold)
    idle()
    # traps()
    imports()


if __name__ == "__main__":
    main()
