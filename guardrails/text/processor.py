"""Text processors: what most guards are. A new one supplies patterns or a detector, nothing else."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from guardrails.processor import Processor, Run, Step, Strategy
from guardrails.surfaces import SURFACES, Surface
from guardrails.text.member import Member, Place, Reader
from guardrails.text.opened import MOST_TEXTS
from guardrails.text.pattern import Pattern
from guardrails.text.reader import Detection, DetectReader, PatternReader, Segment
from guardrails.text.scan import Joined, Search, Span, Window
from guardrails.text.step import TextStep
from guardrails.text.view import RawView, View

LEAST_KEY: Final = 16
"""Bytes that the key of `hash` must have at least: with fewer, all keys can be tried (128 bits)."""

USER_SECONDS: Final = 1.0
"""Time limit of one search with patterns that nobody has measured."""


class TextProcessor(Processor):
    """A processor that looks for spans in texts.

    Subclasses override `patterns`, `detect` or, for what is neither, `searches`. Patterns are held back
    exactly; a detector is asked about segments, several at a time, and answered in any order.

    Raises:
        ValueError: (on construction) a pattern does not compile or cannot be held, a surface is not
            served, or `hash` has no key.
    """

    normalised: ClassVar[bool] = True
    """Whether it reads the normalised view; False for guards that look for invisible characters."""

    without_anything: ClassVar[str] = "it has neither `patterns` nor `detect`, so there is nothing to find"
    """What is said of one that looks for nothing."""

    longest_segment: ClassVar[int] = 1000
    """Characters at which a segment is closed without a boundary."""

    strategy: Strategy = Field(default="redact", description="What happens to a finding.")
    retry: bool = Field(default=False, description="With `block`: ask for the step again.")
    on_error: Literal["block", "pass"] = Field(
        default="block", description="What happens to text that the processor failed to look at."
    )
    surfaces: tuple[Surface, ...] = Field(default=SURFACES, min_length=1, description="Where it looks.")
    key_env: str | None = Field(
        default=None, description="With `hash`: the environment variable that holds the key."
    )
    max_hold: int = Field(
        default=16_384, ge=64, description="Characters at which text that is still undecided blocks."
    )
    max_waiting: int = Field(
        default=262_144,
        ge=64,
        description="Characters that may wait behind undecided text; more block. Other chunks count as long "
        "as they are written out, deltas in them as their text and what is unusual around it.",
    )

    _searches: tuple[Search, ...] = PrivateAttr(default=())
    _key: bytes | None = PrivateAttr(default=None)
    _ready: bool = PrivateAttr(default=False)

    @classmethod
    def codes(cls) -> Mapping[str, str]:
        """Those of any text processor; a type adds its own."""
        return {
            **super().codes(),
            "limit.hold": "text was undecided for more than `max_hold` characters",
            "limit.waiting": "more than `max_waiting` characters waited behind undecided text",
            "limit.texts": f"more than {MOST_TEXTS:,} texts were open at once",
        }

    def patterns(self) -> Sequence[Pattern]:
        """What to look for, the first to match at a place winning."""
        return ()

    def searches(self) -> Sequence[Search]:
        """What texts are searched for, prepared once; override it to look for what is no pattern.

        By default, one search for all patterns that are held exactly, and one for each that states its
        `max_length`.
        """
        patterns = self.patterns()
        exact = [pattern for pattern in patterns if pattern.max_length is None]
        windows = [Window(pattern) for pattern in patterns if pattern.max_length is not None]
        return [*([Joined(exact)] if exact else []), *windows]

    def view(self) -> View:
        """How a text is read: a new view for each."""
        return View() if self.normalised else RawView()

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """Look at segments; the detections of each, in their order.

        An answer must depend on the segment and its context alone, not on the others it came with.
        """
        raise NotImplementedError

    @property
    def waits(self) -> bool:
        """Whether it asks a detector."""
        return type(self).detect is not TextProcessor.detect

    @property
    def search_seconds(self) -> float | None:
        """Time limit of one search; None for patterns whose cost is known."""
        return USER_SECONDS

    @property
    def answer_limit(self) -> float | None:
        """None: what takes long is a large text, taken in slices; checks have limits of their own."""
        return None

    def open(self, run: Run) -> Step:
        """A step of its own."""
        return TextStep([self.member(run, 0)], self.max_waiting)

    def member(self, run: Run, order: int) -> Member:
        """Itself as a member of a step that looks for several processors."""
        if not self._ready:
            raise RuntimeError("a processor that was made without validation cannot guard")
        return Member(
            run,
            order,
            self.surfaces,
            self.strategy,
            self.retry,
            self.on_error == "pass",
            self._key,
            self._open_readers,
            self._clears,
        )

    def _open_readers(self, member: Member, place: Place) -> Sequence[Reader]:
        readers: list[Reader] = []
        for rank, search in enumerate(self._searches):
            view = self.view()
            scan = search.scan(self.search_seconds, view.whole)
            # A copy is whole and has no limit: what was said was decided where it was said.
            hold = sys.maxsize if member.copies else self.max_hold
            readers.append(PatternReader(member, place, view, scan, hold, rank))
        if self.waits:
            readers.append(DetectReader(member, place, self.view(), self.detect, self.longest_segment))
        return readers

    def _clears(self, text: str) -> bool:
        """Whether there is nothing in a complete text, as is soon told of most."""
        if self.waits or len(text) >= self.max_hold:
            return False
        spans: list[Span] = []
        try:
            for search in self._searches:
                view = self.view()
                search.scan(self.search_seconds, view.whole).feed(view.feed(text), spans, last=True)
        except Exception:  # noqa: BLE001 - whoever looks more closely fails as well, and says of what
            return False
        return not spans

    @model_validator(mode="after")
    def _prepared(self) -> Self:
        """Prepare the searches and fetch the key, so that what is wrong shows before the first chunk."""
        patterns = self.patterns()
        self._searches = tuple(self.searches())
        if not self._searches and not self.waits:
            raise ValueError(self.without_anything)
        if any((pattern.max_length or 0) >= self.max_hold for pattern in patterns):
            raise ValueError("max_hold: it must be more than every max_length, or clean text would block")
        if self.max_waiting < self.max_hold:
            raise ValueError("max_waiting: it cannot be less than max_hold, which it contains")
        strategies = {self.strategy, *(pattern.strategy for pattern in patterns)}
        if self.retry and "block" not in strategies:
            raise ValueError(
                "retry: only a refusal can ask for another attempt; it needs the strategy `block`"
            )
        if "hash" in strategies:
            self._key = self._fetch_key()
        elif self.key_env is not None:
            raise ValueError("key_env: only the strategy `hash` uses a key")
        self._ready = True
        return self

    def _fetch_key(self) -> bytes:
        if self.key_env is None:
            raise ValueError("key_env: the strategy `hash` needs a key; name the variable that holds it")
        key = os.environ.get(self.key_env, "")
        if not key:
            # Not which one: the key itself may have been written here.
            raise ValueError("key_env: the environment variable that it names is not set or empty")
        secret = key.encode("utf-8", "surrogateescape")
        if len(secret) < LEAST_KEY:
            short = f"the key has fewer than {LEAST_KEY} bytes, so that others could find it by trying"
            raise ValueError(f"key_env: {short}")
        return secret


class Parallel(Processor):
    """Text processors that look at the same text, side by side.

    Their findings are made one where they overlap; text is held for the one that has decided least.
    """

    members: tuple[TextProcessor, ...] = Field(min_length=1)

    @property
    def parts(self) -> tuple[Processor, ...]:
        """The members."""
        return self.members

    @property
    def waits(self) -> bool:
        """Whether a member asks a detector."""
        return any(member.waits for member in self.members)

    @property
    def answer_limit(self) -> float | None:
        """None, as for each member."""
        return None

    def open(self, run: Run) -> Step:
        """One step for all members."""
        members = [_begun(member, run.member(member), order) for order, member in enumerate(self.members)]
        return TextStep(members, min(member.max_waiting for member in self.members))


def _begun(processor: TextProcessor, run: Run, order: int) -> Member:
    """A processor as a member; one that cannot begin refuses in its own name."""
    try:
        return processor.member(run, order)
    except Exception as error:  # noqa: BLE001 - fail closed, whatever it is
        run.fail(error)
