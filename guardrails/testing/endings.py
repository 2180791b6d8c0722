"""How a guarded stream and its parts end."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from guardrails.chunks import Chunk, Finish, StepFinish

_STEP: Final = "step"
_INPUT: Final = "tool input"
_BLOCKS: Final = {
    "text-start": ("text", "opens"),
    "text-delta": ("text", "continues"),
    "text-end": ("text", "closes"),
    "reasoning-start": ("reasoning", "opens"),
    "reasoning-delta": ("reasoning", "continues"),
    "reasoning-end": ("reasoning", "closes"),
    "tool-call-input-streaming-start": (_INPUT, "opens"),
    "tool-call-delta": (_INPUT, "continues"),
    "tool-call-input-streaming-end": (_INPUT, "closes"),
    "step-start": (_STEP, "opens"),
    "step-finish": (_STEP, "closes"),
}
"""Types of chunks that belong to a block, with its kind and what they do to it."""


def unbalanced(chunks: Sequence[Chunk]) -> list[str]:
    """What is wrong with how a stream and its parts are opened and closed; empty if nothing is.

    Texts, reasoning, tool input and steps are blocks: each is opened, holds its pieces and is closed; none is
    opened while it is open. The tripwire, if there is one, comes when only a step may still be open. Then the
    step is closed and the stream finished, unless they are already, in its name, and nothing else comes.

    Args:
        chunks: all that a consumer received of a stream that it read to the end.
    """
    kinds = [chunk.type for chunk in chunks]
    at = kinds.index("tripwire") if "tripwire" in kinds else len(kinds)
    faults: list[str] = []
    left: list[str] = []
    for chunk in chunks[:at]:
        block, does = _block_of(chunk)
        if block and (block in left) == (does == "opens"):
            state = "open" if block in left else "not open"
            faults.append(f"{chunk.type} came while the {block} was {state}")
        if does == "opens":
            left.append(block)
        elif does == "closes" and block in left:
            left.remove(block)
    if at < len(kinds):
        faults += _ending_faults(chunks, at, in_step=_STEP in left)
        left = [block for block in left if block != _STEP]
    return [*faults, *(f"the {block} was left open" for block in left)]


def _block_of(chunk: Chunk) -> tuple[str, str]:
    """The block that a chunk belongs to, and what it does to it; nothing for most."""
    block, does = _BLOCKS.get(chunk.type, ("", ""))
    if block in ("", _STEP):
        return block, does
    payload: Any = chunk.payload  # type: ignore[union-attr]  # all of these types have one
    return f"{block} {payload.tool_call_id if block == _INPUT else payload.id}", does


def _ending_faults(chunks: Sequence[Chunk], at: int, *, in_step: bool) -> Iterator[str]:
    """What is wrong with the tripwire, which is at this place, and with what follows it."""
    frame = [chunk.type for chunk in chunks[:at] if chunk.type in ("start", "step-start", "finish")]
    wanted = [*["step-finish"] * in_step, *["finish"] * (frame[-1:] != ["finish"])]
    came = [chunk.type for chunk in chunks[at + 1 :]]
    if came != wanted:
        yield f"after the tripwire came {came}, not {wanted}"
    for chunk in chunks[at:]:
        if not (chunk.run_id and chunk.from_):
            yield f"the {chunk.type} of the ending names no run"
        if isinstance(chunk, StepFinish | Finish):
            result = chunk.payload.step_result
            if result is None or result.reason != "tripwire":
                yield f"the {chunk.type} of the ending has another reason"
