"""One text processor of a group, as its step and its readers need it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    @property
    def strategy(self) -> Strategy | None:
        """What to do about it, or None for what the processor does."""

    @property
    def replacement(self) -> str | None:
        """The placeholder under `redact`, or None for the label in brackets."""


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
        key: its key under `hash`.
        open: opens its readers for a text.
    """

    run: Run
    order: int
    surfaces: Sequence[Surface]
    strategy: Strategy
    retry: bool
    passes: bool
    key: bytes | None
    open: Callable[["Member", Place], Sequence[Reader]]

    def found(self, named: Named, place: Place, start: int, end: int) -> Found:
        """A finding for the original characters from `start` to `end`."""
        finding = Finding(
            named.code,
            named.label,
            named.score,
            start,
            end,
            place.surface,
            place.channel,
            self.run.processor_id,
            named.strategy or self.strategy,
        )
        return Found(finding, self.order, named.replacement, self.key)

    def limit(self, code: str, place: Place, start: int, end: int) -> Found:
        """A finding that blocks because a bound was reached undecided."""
        finding = Finding(
            code, "LIMIT", 1.0, start, end, place.surface, place.channel, self.run.processor_id, "block"
        )
        return Found(finding, self.order)

    def refuse(self, finding: Finding) -> NoReturn:
        """Block the stream for a finding.

        Raises:
            Block: always.
        """
        metadata = {
            "code": finding.code,
            "label": finding.label,
            "surface": finding.surface,
            "channel": finding.channel,
        }
        name = self.run.processor_id
        if finding.code.startswith("limit."):
            metadata["cause"] = "limit"
            self.run.block(
                f"{name} reached a limit before it could decide about the {finding.surface}.",
                metadata=metadata,
            )
        self.run.block(
            f"{name} found {finding.label} in the {finding.surface}.",
            retry=self.retry,
            metadata={**metadata, "score": finding.score},
        )

    def fault(self, error: Exception, place: Place) -> None:
        """Deal with a look at the text that failed: block, or log it and let the text pass."""
        if not self.passes:
            self.run.fail(error, surface=place.surface, channel=place.channel)
        name = self.run.processor_id
        logger.warning("%s failed (%s); the text it was asked about passes", name, type(error).__name__)
