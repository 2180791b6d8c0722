"""The loop: order, failure policy, the ending. Steps are pushed; they never see each other."""

import math
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import Any, Final, NoReturn

import anyio

from guardrails.chunks import CHUNK_CLASSES
from guardrails.ending import UsageMeter
from guardrails.processor import (
    END,
    WAKE,
    Block,
    Item,
    Processor,
    Refusal,
    Report,
    Run,
    Step,
    failure,
)
from guardrails.stream import Outlet, Result, Status
from guardrails.surfaces import FRAMES
from guardrails.waiting import Inlet, limited

_GIVEN: Final = CHUNK_CLASSES | {Report}
_PLAIN: Final = (tuple, list)


class Stage:
    """One processor's place in a stream.

    Attributes:
        run: its run, in whose name its failures refuse.
        record: what it has refused and is waiting for.
        step: its step, once it has been opened.
        waits: whether it starts checks.
        answer_limit: seconds that an answer which is awaited may take.
        due: when it wants `WAKE` for want of chunks, on the event loop's clock; infinity for never.
        ended: whether it has been given `END`.
    """

    __slots__ = ("_processor", "_silence", "answer_limit", "due", "ended", "record", "run", "step", "waits")

    def __init__(self, run: Run, processor: Processor) -> None:
        self.run, self.record, self._processor = run, run.record, processor
        self.waits, self._silence = processor.waits, processor.silence
        self.answer_limit = processor.answer_limit
        self.step: Step = _not_open
        self.due, self.ended = math.inf, False

    @property
    def listens(self) -> bool:
        """Whether it wants `WAKE` for want of chunks."""
        return self._silence is not None

    def open(self) -> None:
        """Open the processor; one that fails blocks the stream at its first item."""
        try:
            self.step = self._processor.open(self.run)
        except Exception as error:  # noqa: BLE001 - fail closed, whatever it is
            failed = error
            self.step = lambda _item: self.run.fail(failed)
        self.rest()

    def rest(self) -> None:
        """Something has come; silence begins anew."""
        if self._silence is not None:
            self.due = anyio.current_time() + self._silence


def _not_open(item: Item) -> NoReturn:
    raise RuntimeError(f"a stage is opened before it is given {type(item).__name__}")


class Loop:
    """Moves one stream forward."""

    def __init__(
        self, inlet: Inlet, stages: Sequence[Stage], outlet: Outlet, meter: UsageMeter, max_checks: int
    ) -> None:
        self._inlet, self._stages, self._outlet, self._meter = inlet, stages, outlet, meter
        self._waiting = [stage for stage in stages if stage.waits or stage.listens]
        self._max_checks = max_checks
        self.ready = outlet.ready
        # Stages before this one have given everything back, or were cut off by a refusal after them.
        self._first = 0
        self._reading = True
        self._refusal: Refusal | None = None
        self._fault: Exception | None = None
        self._status: Status | None = None

    async def open(self) -> None:
        """Begin; nothing is read yet."""
        await self._inlet.open()
        for stage in self._stages:
            stage.open()

    def advance(self) -> Awaitable[bool]:
        """Bring the stream forward; gives False once it has ended.

        Raises:
            Exception: the source failed, after all that could be let out has been.
        """
        if self._reading:
            return self._read()
        if self._first < len(self._stages):
            return self._end(self._stages[self._first])
        return self._finish()

    async def close(self) -> None:
        """End everything that is under way and close the source."""
        self._status = self._status or "cancelled"
        await self._inlet.close()

    def result(self) -> Result:
        """What came of the stream.

        Raises:
            RuntimeError: it is still going on.
        """
        if self._status is None:
            raise RuntimeError("the stream has not ended yet")
        return self._outlet.result(self._status, self._meter.total)

    async def _read(self) -> bool:
        """Take the next chunk of the source, or tell the steps what happened instead."""
        try:
            if self._waiting:
                due = min(stage.due for stage in self._waiting)
                chunk = await self._inlet.next(not self._busy(), due)
            else:
                chunk = await self._inlet.next(True, math.inf)
        except StopAsyncIteration:
            self._reading = False
            return True
        except Exception as error:  # noqa: BLE001 - a source may raise anything; it is raised again at the end
            self._reading, self._fault = False, error
            return True
        except BaseException:
            if not self._inlet.resumes:
                self._abandon()
            raise
        if self._waiting:
            await self._wake()
            for stage in self._waiting if chunk is not None else ():
                stage.rest()
        if chunk is None or not self._reading:
            return True
        if type(chunk) in FRAMES:
            self._meter.note(chunk)  # type: ignore[arg-type]  # one of the frames
        await self._push((chunk,), 0)
        return True

    def _busy(self) -> bool:
        """Whether so much is waiting for checks that reading on would only pile up text."""
        records = (stage.record for stage in self._waiting)
        return any(
            record.under_way >= self._max_checks or (record.full and record.under_way) for record in records
        )

    async def _wake(self) -> None:
        """Tell the steps whose checks are done, and those that have had no chunk for as long as they said."""
        now = anyio.current_time() if any(stage.listens for stage in self._waiting) else -math.inf
        for place, stage in enumerate(self._stages):
            if place >= self._first and (stage.record.news or stage.due <= now):
                stage.record.news = False
                stage.rest()
                await self._push((WAKE,), place)

    async def _end(self, stage: Stage) -> bool:
        """Let one stage give back what it holds; checks are waited for, each answer is let out at once."""
        if any(later.record.news for later in self._stages[self._first :]):
            await self._wake()
        elif not stage.ended:
            stage.ended = True
            await self._push((END,), self._first)
        elif stage.record.under_way:
            await self._inlet.next(False, math.inf)
        else:
            self._first += 1
        return True

    async def _finish(self) -> bool:
        """Let the end out, once; raise what the source failed with, once; then nothing more comes."""
        if self._status is None and self._refusal is not None:
            self._fault, self._status = None, "blocked"
            self._outlet.cut_off(self._outlet.parts.ending(self._refusal, self._meter))
            return True
        if self._status is None and self._outlet.flush():
            return True
        self._status = self._status or ("completed" if self._fault is None else "error")
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault
        return False

    async def _push(self, items: Sequence[Item], first: int) -> None:  # noqa: C901, PLR0912 - the hot loop, whole
        """Send items through the stages from `first` on and out.

        What a step gives after its refusal was recorded is not let out, whatever became of the exception.
        """
        for stage in self._stages[first:] if first else self._stages:
            record = stage.record
            out: list[Item] = []
            try:
                for item in items:
                    answer: Any = stage.step(item)
                    if answer.__class__ not in _PLAIN and isawaitable(answer):
                        answer = await limited(answer, stage.answer_limit)
                    for given in answer:
                        if record.refusal is not None:
                            break
                        if type(given) in _GIVEN:
                            out.append(given)
                        elif given is not item:  # one that passes everything on gives `END` and `WAKE` back
                            _reject(given)
                    if record.refusal is not None:
                        break
            except Block as block:
                record.refuse(block.refusal)
            except Exception as error:  # noqa: BLE001 - fail closed, whatever it is
                if record.refusal is None:
                    record.refuse(failure(stage.run.processor_id, error))
            except BaseException:
                self._abandon()
                raise
            if record.refusal is not None:
                await self._refuse(self._stages.index(stage), record.refusal)
            items = out
        try:
            self._outlet.take(items)
        except Block as block:
            await self._refuse(len(self._stages) - 1, block.refusal)

    def _abandon(self) -> None:
        """Something was interrupted half-way; going on would lose text in silence, so nothing more comes."""
        self._reading, self._first, self._status = False, len(self._stages), "cancelled"
        self._fault = RuntimeError("this stream was interrupted half-way and cannot go on")

    async def _refuse(self, place: int, refusal: Refusal) -> None:
        """Stop reading; what came before the refusal is decided by the stages after it, then the stream ends.

        If one of those refuses too, it found something earlier, and its refusal is the one that counts.
        """
        self._refusal, self._reading = refusal, False
        self._first = place + 1
        for stage in self._stages[: self._first]:
            for scope in stage.record.scopes:
                scope.cancel()
        await self._inlet.stop()


def _reject(given: object) -> NoReturn:
    raise TypeError(f"a step gives chunks and reports, not {type(given).__name__}")
