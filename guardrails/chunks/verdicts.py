"""Judgements on a stream: tripwires, goals and completion checks."""

from typing import Annotated, Any, Literal

from guardrails.chunks._base import BaseChunk, Flag, JsonArray, Number, Part, Text, one_of


class TripwirePayload(Part):
    """Why the stream was cut off.

    Attributes:
        reason: A sentence for people.
        retry: Whether the processor asks that the step be repeated.
        metadata: The same for programs.
        processor_id: The processor that blocked.
    """

    reason: Text
    retry: Flag | None = None
    metadata: Any = None
    processor_id: Text | None = None

    @property
    def code(self) -> Any:
        """The stable code in the metadata, `pii.credit_card`; None without one."""
        return self.metadata.get("code") if isinstance(self.metadata, dict) else None


class Tripwire(BaseChunk):
    """A processor blocked the content; the stream is cut off."""

    type: Literal["tripwire"] = "tripwire"
    payload: TripwirePayload


class ScorerResult(Part):
    """What one scorer found.

    Attributes:
        score: Its score.
        passed: Whether that is enough.
        reason: A sentence for people.
        scorer_id: Which scorer.
        scorer_name: What it is called.
        duration: Milliseconds.
        final_result: The answer that the scorer takes the conversation to have reached.
        errored: Whether the scorer failed, so that the score says nothing.
    """

    score: Number
    passed: Flag
    reason: Text | None = None
    scorer_id: Text
    scorer_name: Text
    duration: Number
    final_result: Any = None
    errored: Flag | None = None


class GoalPayload(Part):
    """One evaluation of a goal.

    Attributes:
        objective: The goal, in words.
        iteration: Evaluations used, this one included.
        max_runs: How many there may be.
        passed: Whether the goal is reached.
        status: `active` while it goes on, `paused`, or `done`.
        results: What each scorer found.
        reason: A sentence for people.
        paused_reason: Why it is paused.
        waiting_for_user: Whether the user must say something first.
        judge_failed: Whether the judge gave no verdict.
        duration: Milliseconds.
        timed_out: Whether the evaluation ran past its limit.
        max_runs_reached: Whether this was the last one.
        suppress_feedback: Whether the result is kept from the conversation.
        should_continue: Whether another turn follows.
        pending: Whether the evaluation is still under way.
        activity: What the judge did so far.
    """

    objective: Text
    iteration: Number
    max_runs: Number
    passed: Flag
    status: Annotated[Literal["active", "paused", "done"], one_of("active", "paused", "done")]
    results: list[ScorerResult]
    reason: Text | None = None
    paused_reason: Text | None = None
    waiting_for_user: Flag | None = None
    judge_failed: Flag | None = None
    duration: Number
    timed_out: Flag
    max_runs_reached: Flag
    suppress_feedback: Flag
    should_continue: Flag | None = None
    pending: Flag | None = None
    activity: JsonArray | None = None


class Goal(BaseChunk):
    """A goal was evaluated."""

    type: Literal["goal"] = "goal"
    payload: GoalPayload


class IsTaskCompletePayload(Part):
    """One check whether a task is complete.

    Attributes:
        iteration: Checks used, this one included.
        passed: Whether it is complete.
        results: What each scorer found.
        duration: Milliseconds.
        timed_out: Whether the check ran past its limit.
        reason: A sentence for people.
        max_iteration_reached: Whether this was the last one.
        suppress_feedback: Whether the result is kept from the conversation.
    """

    iteration: Number
    passed: Flag
    results: list[ScorerResult]
    duration: Number
    timed_out: Flag
    reason: Text | None = None
    max_iteration_reached: Flag
    suppress_feedback: Flag


class IsTaskComplete(BaseChunk):
    """It was checked whether the task is complete."""

    type: Literal["is-task-complete"] = "is-task-complete"
    payload: IsTaskCompletePayload
