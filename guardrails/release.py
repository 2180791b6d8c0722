"""Letting out step by step: what a step of the answer says is seen once all of it has been accepted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from guardrails.chunks import Chunk, Finish, Start, StepFinish, with_text
from guardrails.processor import Block, Item, Refusal, Report
from guardrails.stream import Outlet
from guardrails.surfaces import DELTAS, Delta, joinable, plain, size_of, whole_characters

Release: TypeAlias = Literal["stream", "step"]
"""When chunks leave: each as soon as it is decided, or all chunks of a step when the step has ended."""

CULPRIT: Final = "pipeline"
"""Who is named in the tripwire of a step that is too long to be held."""

_BOUNDARIES: Final = (StepFinish, Finish)


class _Text:
    """A text as far as it has been held, as the pieces it came in: joining them each time is quadratic."""

    __slots__ = ("_texts", "delta")

    def __init__(self, delta: Delta) -> None:
        self.delta = delta
        self._texts = [delta.payload.text]

    def add(self, text: str) -> None:
        self._texts.append(text)

    def joined(self) -> Delta:
        if len(self._texts) == 1:
            return self.delta
        return with_text(self.delta, whole_characters("".join(self._texts)))


@dataclass
class StepOutlet(Outlet):
    """Holds what the steps let out until the step of the answer has ended; then all of it leaves at once.

    A step ends with its `step-finish`, with `finish` or with the source. What stands between two steps waits
    with the next one, but for a `start`. Findings do not wait.

    Attributes:
        max_buffer: characters that may be held, in UTF-16 units; more block. Text and reasoning count their
            text, other chunks the length of their `repr`, which is near what they take in memory, but each
            no more than a quarter of the limit: one image shall not end a step.
    """

    max_buffer: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._held: list[Chunk | _Text] = []
        self._size = 0

    def take(self, items: Sequence[Item]) -> None:
        """Hold items, or let them out if they end a step.

        Raises:
            Block: the step is longer than may be held.
        """
        for item in items:
            kind = type(item)
            if kind is Report:
                self._report(item.finding)  # type: ignore[union-attr]  # `isinstance` is slow on models
            elif kind in _BOUNDARIES:
                self.flush()
                self._let_out(item)  # type: ignore[arg-type]  # the loop lets no other signal through
            elif kind is Start and not self._held:
                self._let_out(item)  # type: ignore[arg-type]
            elif kind in DELTAS and plain(item):
                self._hold_text(item)  # type: ignore[arg-type]
            else:
                self._hold(item, size_of(item, self.max_buffer // 4))  # type: ignore[arg-type]

    def flush(self) -> bool:
        """Let out what is held; tells whether there was anything."""
        held, self._held, self._size = self._held, [], 0
        for each in held:
            self._let_out(each.joined() if isinstance(each, _Text) else each)
        return bool(held)

    def cut_off(self, ending: Sequence[Chunk]) -> None:
        """Drop what is held and let the ending out."""
        self._held, self._size = [], 0
        super().cut_off(ending)

    def _hold_text(self, delta: Delta) -> None:
        text = delta.payload.text
        if not text:
            return  # it says nothing, and neither its memory nor its standing between others may count
        last = self._held[-1] if self._held else None
        if isinstance(last, _Text) and joinable(last.delta, delta):
            last.add(text)
            self._count(_units(text))
        else:
            self._hold(_Text(delta), _units(text))

    def _hold(self, held: Chunk | _Text, size: int) -> None:
        self._held.append(held)
        self._count(size)

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self.max_buffer:
            reason = f"A step is longer than the {self.max_buffer} characters that may wait for its end."
            metadata = {"code": "limit.buffer", "cause": "limit"}
            raise Block(Refusal(CULPRIT, reason, retry=False, metadata=metadata))


def _units(text: str) -> int:
    """Its length in UTF-16, which is the same however it is cut, within a character too."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
