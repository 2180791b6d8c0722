"""What a caller holds: a guarded stream, and the result of one that has ended."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias, cast

from guardrails.chunks import (
    Chunk,
    Finish,
    Object,
    ObjectResult,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    TextEnd,
    ToolCall,
    Tripwire,
    Usage,
    with_text,
)
from guardrails.ending import OpenParts
from guardrails.processor import Finding, Item, Report
from guardrails.surfaces import Delta, joinable, whole_characters

logger = logging.getLogger("guardrails")

OnFinding: TypeAlias = Callable[[Finding], None]
Status: TypeAlias = Literal["completed", "blocked", "cancelled", "error"]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a guarded stream, made from the chunks that the consumer was given.

    Attributes:
        status: `completed`; `blocked` by a processor of this pipeline; `cancelled` by whoever consumed it;
            `error` when the source failed.
        text: all text, each id's pieces together, in the order in which the ids began.
        reasoning: the same of all reasoning.
        tool_calls: the tool calls.
        object: the last value of a structured output, None without one.
        usage: tokens used, as far as the source told; None when it told nothing.
        finish_reason: the reason of the `finish` chunk, `tripwire` when blocked.
        tripwire: the tripwire that the consumer was given, which says why: this pipeline's, or one that
            came with the source.
        findings: what was found, in the order of the stream.

    With `collect=False` text, reasoning, tool calls, object and findings stay empty.
    """

    status: Status
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    object: Any = None
    usage: Usage | None = None
    finish_reason: str | None = None
    tripwire: Tripwire | None = None
    findings: tuple[Finding, ...] = ()


class _Texts:
    """The texts of one surface, in the order in which their ids began."""

    def __init__(self) -> None:
        self._all: list[list[str]] = []
        self._open: dict[str, list[str]] = {}

    def add(self, delta: Delta) -> None:
        if not delta.payload.text:
            return  # an empty delta begins nothing, or the order would depend on the cutting
        pieces = self._open.get(delta.payload.id)
        if pieces is None:
            pieces = self._open[delta.payload.id] = []
            self._all.append(pieces)
        pieces.append(delta.payload.text)

    def close(self, id_: str) -> None:
        self._open.pop(id_, None)

    def __str__(self) -> str:
        return "".join(whole_characters("".join(pieces)) for pieces in self._all)


@dataclass
class Outlet:
    """The last stage: takes what the steps let out, keeps what the result needs, readies the chunks.

    Attributes:
        parts: what is open on the consumer's side.
        collect: whether to keep content and findings.
        on_finding: told of each finding.
        ready: chunks that the consumer may have now.
    """

    parts: OpenParts
    collect: bool
    on_finding: OnFinding | None
    ready: deque[Chunk] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._texts: dict[type, _Texts] = {TextDelta: _Texts(), ReasoningDelta: _Texts()}
        self._tool_calls: list[ToolCall] = []
        self._object: Any = None
        self._findings: list[Finding] = []
        self._finish_reason: str | None = None
        self._tripwire: Tripwire | None = None
        self._begun = False

    def take(self, items: Sequence[Item]) -> None:
        """Let items out: neighbouring pieces of one text as one delta, findings to whom they concern."""
        if len(items) == 1 and type(items[0]) is not Report:
            self._let_out(items[0])  # type: ignore[arg-type]  # the loop lets no other signal through
            return
        last: Chunk | None = None
        said: list[str] = []
        for item in items:
            if isinstance(item, Report):
                self._report(item.finding)
                continue
            chunk: Chunk = item  # type: ignore[assignment]  # the loop lets no other signal through
            if last is not None and joinable(last, chunk):
                said.append(cast("Delta", last).payload.text)
            elif last is not None:
                self._let_out(_joined(said, last))
                said = []
            last = chunk
        if last is not None:
            self._let_out(_joined(said, last))

    def flush(self) -> bool:
        """Let out what is still held when a stream ends; tells whether there was anything."""
        return False

    def cut_off(self, ending: Sequence[Chunk]) -> None:
        """Let the ending of a blocked stream out, after which nothing more comes."""
        for chunk in ending:
            self._let_out(chunk)

    def result(self, status: Status, usage: Usage | None) -> Result:
        """What came of the stream."""
        return Result(
            status=status,
            text=str(self._texts[TextDelta]),
            reasoning=str(self._texts[ReasoningDelta]),
            tool_calls=tuple(self._tool_calls),
            object=self._object,
            usage=usage,
            finish_reason=self._finish_reason,
            tripwire=self._tripwire,
            findings=tuple(self._findings),
        )

    def _let_out(self, chunk: Chunk) -> None:
        self.ready.append(chunk)
        texts = self._texts.get(type(chunk))
        if texts is None:
            self.parts.observe(chunk)
            self._note(chunk)
            return
        if not self._begun:
            self._begun = True
            self.parts.observe(chunk)
        if self.collect:
            texts.add(chunk)  # type: ignore[arg-type]  # only deltas have texts

    def _note(self, chunk: Chunk) -> None:
        match chunk:
            case TextEnd(payload=payload):
                self._texts[TextDelta].close(payload.id)
            case ReasoningEnd(payload=payload):
                self._texts[ReasoningDelta].close(payload.id)
            case Finish(payload=payload):
                self._finish_reason = payload.step_result.reason if payload.step_result else None
            case Tripwire():
                self._tripwire = chunk
            case ToolCall() if self.collect:
                self._tool_calls.append(chunk)
            case Object() | ObjectResult() if self.collect:
                self._object = chunk.object
            case _:
                pass

    def _report(self, finding: Finding) -> None:
        if self.collect:
            self._findings.append(finding)
        logger.info(
            "%s found %s in %s (%s)",
            finding.processor_id,
            finding.label,
            finding.surface,
            finding.strategy,
        )
        if self.on_finding is None:
            return
        try:
            self.on_finding(finding)
        except Exception as error:  # noqa: BLE001 - a listener is no guard; the stream goes on
            logger.warning("on_finding failed (%s)", type(error).__name__)


class Driver(Protocol):
    """What moves a guarded stream forward."""

    ready: deque[Chunk]

    async def open(self) -> None:
        """Begin."""

    def advance(self) -> Awaitable[bool]:
        """Bring the stream forward; gives False once it has ended.

        Raises:
            Exception: the source failed, after all that could be let out has been.
        """

    async def close(self) -> None:
        """End everything that is under way and close the source."""

    def result(self) -> Result:
        """What came of the stream so far."""


def _joined(before: Sequence[str], last: Chunk) -> Chunk:
    """The last of neighbouring pieces with what the others say before it."""
    if not before:
        return last
    piece = cast("Delta", last)
    return with_text(piece, "".join((*before, piece.payload.text)))


class GuardedStream:
    """Chunks as they are decided. Use it as `async with pipeline.stream(source) as chunks:`.

    Leaving the block closes the source, whatever happened in it. Iterating raises the source's own
    exception, after everything before it has been given out.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._state: Literal["new", "open", "closed"] = "new"

    async def __aenter__(self) -> Self:
        if self._state != "new":
            raise RuntimeError("a guarded stream can be entered once; make another one")
        self._state = "open"
        await self._driver.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state = "closed"
        await self._driver.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if self._state != "open":
            raise RuntimeError("use `async with pipeline.stream(source) as chunks:` and iterate inside")
        ready = self._driver.ready
        while not ready:
            if not await self._driver.advance():
                raise StopAsyncIteration
        return ready.popleft()

    @property
    def result(self) -> Result:
        """What came of the stream, once it has ended or has been left.

        Raises:
            RuntimeError: it is still going on.
        """
        return self._driver.result()
