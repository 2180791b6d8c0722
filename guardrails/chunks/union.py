"""The closed union of all chunk classes, and the table of their type names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias, get_args

from guardrails.chunks._base import BaseChunk
from guardrails.chunks.background import (
    BackgroundTaskCancelled,
    BackgroundTaskCompleted,
    BackgroundTaskFailed,
    BackgroundTaskOutput,
    BackgroundTaskProgress,
    BackgroundTaskResumed,
    BackgroundTaskRunning,
    BackgroundTaskStarted,
    BackgroundTaskSuspended,
)
from guardrails.chunks.content import (
    Custom,
    Data,
    File,
    Object,
    ObjectResult,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningFile,
    ReasoningSignature,
    ReasoningStart,
    RedactedReasoning,
    Source,
    TextDelta,
    TextEnd,
    TextStart,
)
from guardrails.chunks.control import (
    Abort,
    Error,
    Finish,
    Raw,
    ResponseMetadata,
    Start,
    StepFinish,
    StepStart,
    Watch,
)
from guardrails.chunks.tools import (
    StepOutput,
    ToolCall,
    ToolCallApproval,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    ToolCallInputStreamingStart,
    ToolCallSuspended,
    ToolError,
    ToolOutput,
    ToolOutputDenied,
    ToolResult,
)
from guardrails.chunks.verdicts import Goal, IsTaskComplete, Tripwire


class UnknownChunk(BaseChunk):
    """A chunk of a type that has no class of its own, kept whole; its other keys are in `model_extra`."""

    payload: Any = None


Chunk: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ReasoningSignature
    | RedactedReasoning
    | ToolCall
    | ToolResult
    | ToolCallInputStreamingStart
    | ToolCallDelta
    | ToolCallInputStreamingEnd
    | ToolError
    | ToolOutput
    | ToolCallApproval
    | ToolCallSuspended
    | ToolOutputDenied
    | StepOutput
    | Source
    | File
    | ReasoningFile
    | Custom
    | Object
    | ObjectResult
    | Data
    | Start
    | StepStart
    | StepFinish
    | Finish
    | Error
    | Abort
    | Raw
    | Watch
    | ResponseMetadata
    | BackgroundTaskStarted
    | BackgroundTaskRunning
    | BackgroundTaskProgress
    | BackgroundTaskOutput
    | BackgroundTaskCompleted
    | BackgroundTaskFailed
    | BackgroundTaskSuspended
    | BackgroundTaskResumed
    | BackgroundTaskCancelled
    | Goal
    | IsTaskComplete
    | Tripwire
    | UnknownChunk
)
"""Any chunk. The union is closed, so that a type checker names the places which forget a type."""


def _by_type() -> dict[str, type[Chunk]]:
    """Each class under the names that its `type` may have; `Data` and `UnknownChunk` settle none."""
    return {name: kind for kind in get_args(Chunk) for name in get_args(kind.model_fields["type"].annotation)}


CHUNK_CLASSES: frozenset[type] = frozenset(get_args(Chunk))
"""The classes of the union; looking a chunk's class up here is faster than `isinstance` on a model."""

CHUNK_TYPES: Mapping[str, type[Chunk]] = MappingProxyType(_by_type())
"""The class of each type name of the protocol. A name that is not here is a `Data` or an `UnknownChunk`."""
