"""How a blocked stream ends: what is open is closed, the tripwire, then an end that consumers wait for."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from guardrails.chunks import (
    Chunk,
    Finish,
    FinishPayload,
    Messages,
    Output,
    ReasoningEnd,
    ReasoningEndPayload,
    ReasoningStart,
    Start,
    StepFinish,
    StepFinishPayload,
    StepResult,
    StepStart,
    TextEnd,
    TextEndPayload,
    TextStart,
    ToolCall,
    ToolCallInputStreamingEnd,
    ToolCallInputStreamingEndPayload,
    ToolCallInputStreamingStart,
    Tripwire,
    TripwirePayload,
    Usage,
)
from guardrails.processor import Refusal

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_input_tokens",
)


def total(usages: list[Usage]) -> Usage | None:
    """The sum of what is known; a count that no part knows stays unknown."""
    if len(usages) <= 1:
        return usages[0] if usages else None
    sums: dict[str, int | float] = {}
    for usage in usages:
        for count in _COUNTS:
            value = getattr(usage, count)
            if value is not None:
                sums[count] = sums.get(count, 0) + value
    return Usage(**sums)


class UsageMeter:
    """The usage that a source has told so far, whether or not its chunk has been let out yet."""

    def __init__(self) -> None:
        # Steps and answers are few; what is kept here does not grow with their text.
        self.steps: list[Usage | None] = []
        self._finished: list[Usage] = []
        self._since = 0

    def note(self, chunk: StepFinish | Finish) -> None:
        """Take in the usage of a step or of a whole answer."""
        usage = chunk.payload.output.usage if chunk.payload.output else None
        if isinstance(chunk, StepFinish):
            self.steps.append(usage)
            return
        known = usage or self._open_steps()
        self._since = len(self.steps)
        if known is not None:
            self._finished.append(known)

    @property
    def total(self) -> Usage | None:
        """Everything known so far; None when nothing is."""
        rest = self._open_steps()
        return total([*self._finished, *([rest] if rest else [])])

    def _open_steps(self) -> Usage | None:
        return total([usage for usage in self.steps[self._since :] if usage is not None])


class OpenParts:
    """What has been opened on the consumer's side and is not closed yet."""

    def __init__(self, run_id: str) -> None:
        self._envelope: dict[str, Any] = {"run_id": run_id, "from_": "AGENT"}
        # Open blocks in the order of their opening, each with what makes the chunk that closes it.
        self._blocks: dict[tuple[str, str], Callable[[], Chunk]] = {}
        self._step: StepStart | None = None
        self._steps_closed = 0
        self._finished = False

    def observe(self, chunk: Chunk) -> None:
        """Take note of a chunk that goes to the consumer."""
        if chunk.run_id is not None:
            self._envelope["run_id"] = chunk.run_id
        if chunk.from_ is not None:
            self._envelope["from_"] = chunk.from_
        match chunk:
            case TextStart():
                self._blocks["text", chunk.payload.id] = partial(self._text_end, chunk.payload.id)
            case ReasoningStart():
                self._blocks["reasoning", chunk.payload.id] = partial(self._reasoning_end, chunk.payload.id)
            case ToolCallInputStreamingStart():
                self._blocks["tool", chunk.payload.tool_call_id] = partial(
                    self._input_end, chunk.payload.tool_call_id
                )
            case TextEnd():
                self._blocks.pop(("text", chunk.payload.id), None)
            case ReasoningEnd():
                self._blocks.pop(("reasoning", chunk.payload.id), None)
            case ToolCallInputStreamingEnd() | ToolCall():
                self._blocks.pop(("tool", chunk.payload.tool_call_id), None)
            case _:
                self._observe_frame(chunk)

    def _observe_frame(self, chunk: Chunk) -> None:
        match chunk:
            case Start():
                self._finished = False
            case StepStart():
                self._step, self._finished = chunk, False
            case StepFinish():
                self._step = None
                self._steps_closed += 1
            case Finish():
                self._step, self._finished = None, True
            case _:
                pass

    def ending(self, refusal: Refusal, meter: UsageMeter) -> list[Chunk]:
        """The chunks that end a stream which was refused."""
        chunks = [close() for close in self._blocks.values()]
        chunks.append(
            Tripwire(
                payload=TripwirePayload(
                    reason=refusal.reason,
                    retry=refusal.retry,
                    metadata=refusal.metadata,
                    processor_id=refusal.processor_id,
                ),
                **self._envelope,
            )
        )
        if self._step is not None:
            known = meter.steps[self._steps_closed :]
            chunks.append(self._step_finish(self._step, known[0] if known else None))
        if not self._finished:
            chunks.append(
                Finish(payload=FinishPayload(**_outcome(meter.total), response={}), **self._envelope)
            )
        return chunks

    def _step_finish(self, step: StepStart, usage: Usage | None) -> StepFinish:
        about = _outcome(usage)
        if step.payload.message_id is not None:
            about["message_id"] = step.payload.message_id
        return StepFinish(payload=StepFinishPayload(**about), **self._envelope)

    def _text_end(self, id_: str) -> TextEnd:
        return TextEnd(payload=TextEndPayload(id=id_), **self._envelope)

    def _reasoning_end(self, id_: str) -> ReasoningEnd:
        return ReasoningEnd(payload=ReasoningEndPayload(id=id_), **self._envelope)

    def _input_end(self, id_: str) -> ToolCallInputStreamingEnd:
        return ToolCallInputStreamingEnd(
            payload=ToolCallInputStreamingEndPayload(tool_call_id=id_), **self._envelope
        )


def _outcome(usage: Usage | None) -> dict[str, Any]:
    """The payload of a made `step-finish` or `finish`; usage that is not known is left out."""
    return {
        "step_result": StepResult(reason="tripwire", warnings=[], is_continued=False),
        "output": Output() if usage is None else Output(usage=usage),
        "metadata": {},
        "messages": Messages(all=[], user=[], non_user=[]),
    }
