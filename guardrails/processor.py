"""What a processor is: frozen settings that open a step, and what that step may ask of its stream."""

import json
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Literal, NoReturn, Self, TypeAlias, TypeVar

from anyio import CancelScope
from pydantic import BaseModel, ConfigDict, Field, model_validator

from guardrails.chunks import Chunk

T = TypeVar("T")

logger = logging.getLogger("guardrails")

Strategy: TypeAlias = Literal["block", "remove", "redact", "hash", "mask", "warn"]
"""What happens to a finding, the strongest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a processor found. It says what and where, never the text itself.

    Attributes:
        code: stable dotted name (`pii.credit_card`).
        label: what was found (`CREDIT_CARD`).
        score: how sure the processor is, 0–1.
        start: first character, in the text of its channel as it reached the processor.
        end: one past the last character.
        surface: where the text stood (`text`, `reasoning`).
        channel: the id of that text.
        processor_id: who found it.
        strategy: what was done about it.
    """

    code: str
    label: str
    score: float
    start: int
    end: int
    surface: str
    channel: str
    processor_id: str
    strategy: Strategy


class End:
    """Signal: the stream is over; give back what you hold."""


class Wake:
    """Signal: a check you started is done, or the source has been silent for as long as you asked."""


@dataclass(frozen=True, slots=True)
class Report:
    """Signal: a finding, at its place in the stream. A step passes on those it did not make."""

    finding: Finding


END: Final = End()
WAKE: Final = Wake()

Signal: TypeAlias = End | Wake | Report
Item: TypeAlias = Chunk | Signal
"""What a step is given and gives: chunks, and signals that no consumer sees."""

Step: TypeAlias = Callable[[Item], Iterable[Item] | Awaitable[Iterable[Item]]]
"""One item in, zero or more out. A generator may yield what is decided and then refuse."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a stream was blocked, as its tripwire will say it."""

    processor_id: str
    reason: str
    retry: bool
    metadata: Any


class MisuseError(TypeError):
    """A processor broke its side of an interface. The message holds no content, so that it can be told."""


FAILED: Final = "processor.failed"
"""The code of a tripwire whose processor raised, ran past its limit or could not begin."""


def failure(processor_id: str, error: Exception, **where: str) -> Refusal:
    """The refusal for a processor that raised or ran past its limit.

    It names the error's class alone, and the log the place in the code: messages may repeat content, and
    only our own are told.
    """
    late = isinstance(error, TimeoutError)
    name = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    why = f": {error}" if isinstance(error, MisuseError) else ""
    logger.warning("%s failed (%s%s)%s", processor_id, name, place, why)
    return Refusal(
        processor_id,
        f"{processor_id} ran past its time limit." if late else f"{processor_id} failed ({name}).",
        retry=False,
        metadata={
            "code": FAILED,
            **where,
            "cause": "timeout" if late else "error",
            "error": name,
        },
    )


class Block(Exception):  # noqa: N818 - a verdict, not an error
    """Raised by `Run.block`; it need not be caught, and catching it undoes nothing."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class Check(Generic[T]):
    """A slow question under way.

    Attributes:
        done: whether it has been answered, with a value or an error.
        error: what it failed with; `TimeoutError` when it ran past the processor's limit.
    """

    __slots__ = ("_value", "done", "error")

    def __init__(self) -> None:
        self.done = False
        self.error: Exception | None = None
        self._value: T | None = None

    @property
    def value(self) -> T:
        """The answer.

        Raises:
            RuntimeError: it is not done yet.
            Exception: the error it failed with; left alone, the stream is blocked (fail closed).
        """
        if not self.done:
            raise RuntimeError("the check is not done yet; wait for WAKE")
        if self.error is not None:
            raise self.error
        return self._value  # type: ignore[return-value]

    def answer(self, value: T | None, error: Exception | None = None) -> None:
        """Close the question; the stream does this."""
        self._value, self.error, self.done = value, error, True


Ask: TypeAlias = Callable[..., Awaitable[T]]


class Record:
    """What one stage of a stream has refused and is waiting for; shared by the runs of its members.

    Attributes:
        refusal: the first refusal; nothing takes it back.
        under_way: how many checks are not done.
        full: whether so much waits for them that nothing more should be read.
        news: whether one is done that the step has not been told of.
        scopes: what cancels the checks that have begun.
    """

    __slots__ = ("full", "news", "refusal", "scopes", "under_way")

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.under_way = 0
        self.full = False
        self.news = False
        self.scopes: set[CancelScope] = set()

    def refuse(self, refusal: Refusal) -> None:
        """Note a refusal; the first one counts, and nothing takes it back."""
        self.refusal = self.refusal or refusal


Spawn: TypeAlias = Callable[["Run", Ask[Any], tuple[Any, ...], Check[Any]], None]


class Run:
    """What a step may know of its stream and ask from it.

    Attributes:
        run_id: the stream's run, for correlation.
        processor_id: whose run this is.
        timeout: seconds that one awaited answer may take; None for no limit.
        record: what its stage has refused and is waiting for.
    """

    def __init__(
        self, run_id: str, processor: "Processor", record: Record, spawn: Spawn | None = None
    ) -> None:
        self.run_id = run_id
        self.processor_id = processor.id
        self.timeout = processor.timeout
        self.record = record
        self._spawn = spawn

    def member(self, processor: "Processor") -> "Run":
        """The run of one member of a group: the same stream and stage under the member's own name."""
        return Run(self.run_id, processor, self.record, self._spawn)

    def block(self, reason: str, *, retry: bool = False, metadata: Any = None) -> NoReturn:
        """Refuse: end the stream with a tripwire. What the step has yielded before still leaves.

        Args:
            reason: a sentence for people; it must not repeat the refused content.
            retry: ask for this step of the answer again.
            metadata: JSON for programs, under the same rule as the reason.

        Raises:
            Block: always. The refusal is recorded first, so that nothing on the way can undo it.
        """
        if not isinstance(reason, str):
            raise TypeError("the reason of a refusal is a sentence")
        json.dumps(metadata, allow_nan=False)  # raises for what could not be sent
        refusal = Refusal(self.processor_id, reason, retry, metadata)
        self.record.refuse(refusal)
        raise Block(refusal)

    def fail(self, error: Exception, **where: str) -> NoReturn:
        """Refuse because a part of the processor failed (fail closed).

        Args:
            error: what it failed with; only its class is told.
            where: what the metadata says of the place.

        Raises:
            Block: always.
        """
        refusal = failure(self.processor_id, error, **where)
        self.record.refuse(refusal)
        raise Block(refusal)

    def start(self, ask: Ask[T], *args: Any) -> Check[T]:
        """Put a slow question under way; the step gets `WAKE` when it is done.

        Raises:
            RuntimeError: the processor does not declare `waits`.
        """
        if self._spawn is None:
            raise RuntimeError(f"{self.processor_id} starts a check but does not declare `waits = True`")
        check: Check[T] = Check()
        self.record.under_way += 1
        self._spawn(self, ask, args, check)
        return check


@dataclass(frozen=True, slots=True)
class AsWritten:
    """Marks a setting whose texts are what is looked for: `pattern: Annotated[str, AsWritten()]`.

    In any other text of a configuration `${NAME}` is refused, since it would not be read there; here it may
    be meant as it is written.
    """


_WORDS_MEET: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Processor(BaseModel):
    """Settings of one processor, frozen and shared by all streams; `open` gives each stream its own state.

    Subclasses add fields and `open`. The type name is the class name in snake_case.

    A validator of the whole model says which setting is wrong by beginning the message of its `ValueError`
    with the key: `retry: …`, `rules: …`, `rules[1].name: …`. In a configuration the error is then placed
    there. The values of secrets and of settings declared with `Field(repr=False)` are not shown in messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    type_name: ClassVar[str] = "processor"

    id: str = Field(
        default="",
        description="Names the processor in tripwires; the type name if not given.",
        json_schema_extra={"pattern": r"\S"},
    )
    timeout: float | None = Field(
        default=10, gt=0, description="Seconds that one awaited answer may take; null for no limit."
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Derive the type name."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.type_name = _WORDS_MEET.sub("_", cls.__name__).lower()

    @model_validator(mode="before")
    @classmethod
    def _default_id(cls, data: Any) -> Any:
        if isinstance(data, dict) and "id" not in data:
            return {**data, "id": cls.type_name}
        return data

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.id.strip() or not self.id.isprintable():
            raise ValueError("id: it is empty or cannot be printed; give a name or leave it out")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as settings alone: what was prepared from them, keys among it, is prepared anew."""
        return type(self).model_validate, ({name: getattr(self, name) for name in self.model_fields_set},)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; with `update` it is checked and prepared anew."""
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).model_validate({**given, **update})

    @classmethod
    def codes(cls) -> Mapping[str, str]:
        """The codes that it may report or block with, each with what it stands for."""
        return {FAILED: "it raised, or ran past its time limit"}

    @property
    def parts(self) -> "tuple[Processor, ...]":
        """The processors this one consists of: itself, or the members of a group."""
        return (self,)

    @property
    def waits(self) -> bool:
        """Whether its step starts checks."""
        return False

    @property
    def answer_limit(self) -> float | None:
        """Seconds that an answer which its step gives later may take; None for no limit."""
        return self.timeout

    @property
    def silence(self) -> float | None:
        """Seconds without a chunk after which its step gets `WAKE`; None for never."""
        return None

    def open(self, run: Run) -> Step:
        """Fresh state for one stream."""
        raise NotImplementedError
