"""One text processor of a group, as its step and its readers need it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from guardrails.processor import Finding, Run, Strategy
from guardrails.surfaces import Surface
from guardrails.text.edits import Found

logger = logging.getLogger("guardrails")


class Named(Protocol):
    """What a pattern and a detection say of a finding."""

    @property
    def label(self) -> str:
        """What was found."""

    @property
    def code(self) -> str:
        """Its stable name."""

    @property
    def score(self) -> float:
        """How sure, 0–1."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which text: its surface, and its id there."""

    surface: Surface
    channel: str


class Reader(Protocol):
    """What looks at the text of one channel for one processor."""

    @property
    def member(self) -> "Member":
        """For whom it looks."""

    @property
    def settled(self) -> int:
        """Everything before this offset is decided by this reader for good."""

    def feed(self, piece: str) -> list[Found]:
        """Take more text; the findings it decides."""

    def close(self) -> list[Found]:
        """The text is complete; the findings its end decides."""

    def collect(self) -> list[Found]:
        """The findings of checks that are done by now, in the order of the text."""


@dataclass(frozen=True, slots=True)
class Member:
    """Whose findings a step makes.

    Attributes:
        run: the run of the processor, so that refusals bear its name.
        order: its place in the group.
        surfaces: where it looks.
        strategy: what happens to a finding that does not say.
        retry: whether a refusal asks for the step again.
        passes: whether text passes when the processor fails on it (`on_error: pass`).
        copies: whether it looks at copies, in which what would be refused is hidden.
        key: its key under `hash`.
        open: opens its readers for a text.
        clears: whether it can tell at once that there is nothing in a text, and there is nothing.
    """

    run: Run
    order: int
    surfaces: Sequence[Surface]
    strategy: Strategy
    retry: bool
    passes: bool
    key: bytes | None = field(repr=False)
    open: Callable[["Member", Place], Sequence[Reader]]
    clears: Callable[[str], bool]
    copies: bool = False

    def found(
        self,
        named: Named,
        place: Place,
        span: tuple[int, int],
        strategy: Strategy | None = None,
        replacement: str | None = None,
    ) -> Found:
        """A finding for a span of original characters; without a strategy, under that of the processor."""
        strategy = strategy or self.strategy
        if self.copies and strategy == "block":
            strategy = "redact"
        finding = self._finding(named.code, named.label, named.score, place, span, strategy)
        return Found(finding, self.order, replacement, self.key if strategy == "hash" else None)

    def limit(self, code: str, place: Place, start: int, end: int) -> Found:
        """A finding that blocks because a bound was reached undecided."""
        return Found(self._finding(code, "LIMIT", 1.0, place, (start, end), "block"), self.order, limit=True)

    def _finding(  # noqa: PLR0913, PLR0917 - a finding has that many sides
        self, code: str, label: str, score: float, place: Place, span: tuple[int, int], strategy: Strategy
    ) -> Finding:
        return Finding(
            code, label, score, *span, place.surface, place.channel, self.run.processor_id, strategy
        )

    def refuse(self, found: Found) -> NoReturn:
        """Block the stream for a finding.

        Raises:
            Block: always.
        """
        finding, name = found.finding, self.run.processor_id
        metadata: dict[str, str | float] = {
            "code": finding.code,
            "label": finding.label,
            "surface": finding.surface,
            "channel": finding.channel,
        }
        if found.limit:
            surface = _words(finding.surface)
            reason = f"{name} reached a limit ({finding.code}) before it could decide about the {surface}."
            self.run.block(reason, metadata={**metadata, "cause": "limit"})
        reason = f"{name} found {finding.label} in the {_words(finding.surface)}."
        self.run.block(reason, retry=self.retry, metadata={**metadata, "score": finding.score})

    def fault(self, error: Exception, place: Place) -> None:
        """Deal with a look at the text that failed: block, or log it and let the text pass."""
        if not self.passes:
            self.run.fail(error, surface=place.surface, channel=place.channel)
        name = self.run.processor_id
        logger.warning(
            "%s failed (%s): with `on_error: pass`, %s passes that it has not looked at",
            name,
            type(error).__name__,
            _words(place.surface),
        )


def _words(surface: str) -> str:
    return surface.replace("_", " ")
