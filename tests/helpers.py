"""Short ways to make chunks, sources, processors and distributions."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anyio.lowlevel import checkpoint

from guardrails import Chunk, Item, Pipeline, Processor, Run, Step, parse_chunk
from guardrails.testing import Patterns


def chunk(kind: str, /, **payload: Any) -> Chunk:
    """A chunk of the agent's run, its payload in JSON names."""
    return parse_chunk({"type": kind, "runId": "run", "from": "AGENT", "payload": payload})


def delta(text: str, id_: str = "t") -> Chunk:
    """A piece of text."""
    return chunk("text-delta", id=id_, text=text)


def answer(*texts: str) -> list[Chunk]:
    """A whole answer with one text."""
    usage = {"usage": {"inputTokens": 3, "outputTokens": 4}}
    return [
        chunk("start"),
        chunk("step-start", messageId="m", request={}),
        chunk("text-start", id="t"),
        *map(delta, texts),
        chunk("text-end", id="t"),
        chunk("step-finish", stepResult={"reason": "stop"}, output=usage),
        chunk("finish", stepResult={"reason": "stop"}, output=usage),
    ]


def types(chunks: Iterable[Chunk]) -> list[str]:
    """The types, in order."""
    return [one.type for one in chunks]


def text(chunks: Iterable[Chunk]) -> str:
    """All text, joined."""
    return "".join(one.payload.text for one in chunks if one.type == "text-delta")  # type: ignore[union-attr]


async def collect(pipeline: Pipeline, source: Any) -> list[Chunk]:
    """All chunks that a consumer of a guarded stream gets."""
    async with pipeline.stream(source) as chunks:
        return [one async for one in chunks]


class Source:
    """An async source that counts what is asked of it and how often it is closed."""

    def __init__(
        self, chunks: Sequence[Any], error: BaseException | None = None, *, pauses: bool = False
    ) -> None:
        self.chunks, self.error, self.pauses = chunks, error, pauses
        self.asked, self.closed = 0, 0

    async def play(self) -> AsyncIterator[Any]:
        try:
            for one in self.chunks:
                self.asked += 1
                if self.pauses:
                    await checkpoint()
                yield one
            if self.error is not None:
                raise self.error
        finally:
            self.closed += 1


class Does(Processor):
    """A processor whose step is given as a function of the run."""

    make: Callable[[Run], Step]
    slow: bool = False
    quiet: float | None = None

    @property
    def waits(self) -> bool:
        return self.slow

    @property
    def silence(self) -> float | None:
        return self.quiet

    def open(self, run: Run) -> Step:
        return self.make(run)


def does(step: Callable[[Run, Item], Any], id_: str = "does", **settings: Any) -> Does:
    """A processor whose step is a function of the run and the item."""
    return Does(id=id_, make=lambda run: lambda item: step(run, item), **settings)


def four(**settings: Any) -> Patterns:
    """A processor that finds four digits in a row."""
    return Patterns(find=r"\d{4}", **settings)


def distribute(site: Path, name: str, types: Mapping[str, str], *, package: str = "") -> None:
    """Write what an installer leaves of a distribution that names processors or brings a package."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{type_} = {where}" for type_, where in types.items()]
    (info / "entry_points.txt").write_text("\n".join(["[guardrails.processors]", *lines, ""]))
    if package:
        (info / "top_level.txt").write_text(f"{package}\n")
