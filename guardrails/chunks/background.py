"""Tools that run in the background. All times (`…_at`) are ISO strings."""

from typing import Any, Literal

from guardrails.chunks._base import BaseChunk, Flag, JsonObject, Number, Part, Text


class BackgroundTaskStartedPayload(Part):
    """The task and the tool call that it answers."""

    task_id: Text
    tool_name: Text
    tool_call_id: Text


class BackgroundTaskStarted(BaseChunk):
    """A task is queued."""

    type: Literal["background-task-started"] = "background-task-started"
    payload: BackgroundTaskStartedPayload


class BackgroundTaskPayload(BackgroundTaskStartedPayload):
    """A task that has been picked up, and by whom."""

    run_id: Text
    agent_id: Text


class BackgroundTaskRunningPayload(BackgroundTaskPayload):
    """A task that runs."""

    started_at: Text
    args: JsonObject


class BackgroundTaskRunning(BaseChunk):
    """A task is picked up."""

    type: Literal["background-task-running"] = "background-task-running"
    payload: BackgroundTaskRunningPayload


class BackgroundTaskProgressPayload(Part):
    """All tasks that run, and for how many milliseconds."""

    task_ids: list[Text]
    running_count: Number
    elapsed_ms: Number


class BackgroundTaskProgress(BaseChunk):
    """A snapshot of all running tasks."""

    type: Literal["background-task-progress"] = "background-task-progress"
    payload: BackgroundTaskProgressPayload


class BackgroundTaskOutputPayload(BackgroundTaskPayload):
    """What a task streams: the tool-output chunk inside, or any value."""

    payload: Any


class BackgroundTaskOutput(BaseChunk):
    """A task streams while it runs."""

    type: Literal["background-task-output"] = "background-task-output"
    payload: BackgroundTaskOutputPayload


class BackgroundTaskCompletedPayload(BackgroundTaskPayload):
    """What a task returned."""

    result: Any
    completed_at: Text
    is_error: Flag | None = None


class BackgroundTaskCompleted(BaseChunk):
    """A task is done."""

    type: Literal["background-task-completed"] = "background-task-completed"
    payload: BackgroundTaskCompletedPayload


class TaskError(Part):
    """What a task died of."""

    message: Text


class BackgroundTaskFailedPayload(BackgroundTaskPayload):
    """A task that threw or ran past its limit."""

    error: TaskError
    completed_at: Text


class BackgroundTaskFailed(BaseChunk):
    """A task failed."""

    type: Literal["background-task-failed"] = "background-task-failed"
    payload: BackgroundTaskFailedPayload


class BackgroundTaskSuspendedPayload(BackgroundTaskPayload):
    """A task that waits; producers say why under either of two names."""

    suspend_data: Any = None
    suspend_payload: Any = None
    suspended_at: Text | None = None
    args: JsonObject | None = None


class BackgroundTaskSuspended(BaseChunk):
    """A task is suspended."""

    type: Literal["background-task-suspended"] = "background-task-suspended"
    payload: BackgroundTaskSuspendedPayload


class BackgroundTaskResumedPayload(BackgroundTaskPayload):
    """A task that runs again."""

    started_at: Text
    args: JsonObject


class BackgroundTaskResumed(BaseChunk):
    """A task is resumed."""

    type: Literal["background-task-resumed"] = "background-task-resumed"
    payload: BackgroundTaskResumedPayload


class BackgroundTaskCancelledPayload(BackgroundTaskPayload):
    """A task that was called off."""

    completed_at: Text


class BackgroundTaskCancelled(BaseChunk):
    """A task is cancelled."""

    type: Literal["background-task-cancelled"] = "background-task-cancelled"
    payload: BackgroundTaskCancelledPayload
