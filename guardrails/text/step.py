"""The step of text processors: one queue in which nothing overtakes held text."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from guardrails.chunks import StepFinish, with_text
from guardrails.processor import END, WAKE, Finding, Item, Report
from guardrails.surfaces import CLOSINGS, DELTAS, Closing, Delta, Surface, joinable, plain
from guardrails.text.channel import Channel
from guardrails.text.edits import Found
from guardrails.text.member import Member, Place

MOST_TEXTS: Final = 1024
"""Texts that may be open at once; a producer that opens more never closes them, and memory has an end."""


class _Held:
    """A run of text of one channel in the queue; or another item, which has no channel; or a refusal."""

    __slots__ = ("beside", "channel", "end", "item", "refusal", "start", "whole")

    def __init__(
        self, item: Item, channel: Channel | None, start: int, end: int, refusal: Found | None = None
    ) -> None:
        self.item, self.channel, self.start, self.end = item, channel, start, end
        self.refusal = refusal
        self.beside = 0
        # Whether it is still one delta of which nothing has left.
        self.whole = True


class TextStep:
    """Scans the texts of one stream for the members of a group, and releases what is decided."""

    def __init__(self, members: Sequence[Member], max_waiting: int) -> None:
        self._members = members
        self._record = members[0].run.record
        self._surfaces = {surface for member in members for surface in member.surfaces}
        self._max_waiting = max_waiting
        self._open: dict[tuple[str, str], Channel] = {}
        self._queue: deque[_Held] = deque()
        self._waiting = 0

    def __call__(self, item: Item) -> Iterable[Item]:
        """Take one item; give what is decided by it."""
        kind = type(item)
        surface = DELTAS.get(kind)
        if surface in self._surfaces:
            return self._text(item, surface)  # type: ignore[arg-type]  # a cast costs a call for each delta
        if item is WAKE:
            for channel in dict.fromkeys(held.channel for held in self._queue):
                if channel is not None:
                    channel.collect()
            return self._drain()
        if kind in CLOSINGS:
            self._close([(CLOSINGS[kind], cast("Closing", item).payload.id)])
        elif item is END or kind is StepFinish:
            self._close(list(self._open))
        return self._drain() if item is END else self._other(item)

    def _text(self, delta: Delta, surface: Surface) -> Iterable[Item]:
        payload = delta.payload
        channel = self._open.get((surface, payload.id))
        if channel is None:
            place = Place(surface, payload.id)
            if len(self._open) >= MOST_TEXTS:
                too_many = self._members[0].limit("limit.texts", place, 0, 0)
                self._queue.append(_Held(delta, None, 0, 0, too_many))
                return self._drain()
            channel = self._open[surface, payload.id] = Channel(place, self._members)
        start = channel.end
        channel.feed(payload.text)
        if not self._queue and channel.untouched(start, payload.text):
            channel.skip()
            return (delta,)
        self._waiting += channel.end - start
        last = self._queue[-1] if self._queue else None
        if last is not None and last.channel is channel and joinable(last.item, delta):
            last.item, last.end, last.whole = delta, channel.end, False
        else:
            held = _Held(delta, channel, start, channel.end)
            # An entry costs memory even if its text is empty, and so does what a delta carries beside it.
            held.beside = int(not payload.text) if plain(delta) else len(repr(delta))
            self._waiting += held.beside
            self._queue.append(held)
        return self._drain()

    def _close(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            channel = self._open.pop(key, None)
            if channel is not None:
                channel.close()

    def _other(self, item: Item) -> Iterable[Item]:
        if not self._queue:
            return (item,)
        size = min(len(repr(item)), self._max_waiting // 4)  # no single chunk, such as an image, fills it
        self._waiting += size
        self._queue.append(_Held(item, None, 0, size))
        return self._drain()

    def _drain(self) -> Iterable[Item]:
        """Release from the front of the queue up to the first character that is not decided."""
        out: list[Item] = []
        while self._queue:
            head = self._queue[0]
            if head.refusal is not None:
                return self._refuse(out, (head.refusal,))
            if head.channel is None:
                out.append(head.item)
                self._waiting -= head.end
            else:
                self._release(head, head.channel, out)
                if head.start < head.end:
                    return self._wait(out, head, head.channel)
                self._waiting -= head.beside
            self._queue.popleft()
        self._record.full = False
        return out

    def _release(self, head: _Held, channel: Channel, out: list[Item]) -> None:
        delta: Delta = head.item  # type: ignore[assignment]  # what stands in a channel is a delta
        stop = min(head.end, channel.settled)
        parts: list[str | Finding] = []
        if stop > head.start:
            parts = channel.release(head.start, stop)
            self._waiting -= stop - head.start
            head.start = stop
        done = head.start == head.end
        text = delta.payload.text
        if head.whole and done and parts == ([text] if text else []):
            out.append(delta)
            return
        for part in parts:
            if isinstance(part, str):
                out.append(with_text(delta, part))
                head.whole = False
            else:
                out.append(Report(part))
        if done and head.whole and not plain(delta):
            out.append(
                with_text(delta, "")
            )  # its text has left with an earlier piece; what else it carries has not

    def _wait(self, out: list[Item], head: _Held, channel: Channel) -> Iterable[Item]:
        """The front is undecided, or refused. What waits for a check is bounded by reading no more."""
        if channel.refusal and channel.settled == head.start:
            return self._refuse(out, channel.refusal)
        self._record.full = self._waiting > self._max_waiting
        if self._record.full and not self._record.under_way and not self._record.news:
            return self._refuse(out, (channel.overflow(),))
        return out

    def _refuse(self, out: list[Item], refusal: Sequence[Found]) -> Iterator[Item]:
        yield from out
        for found in refusal:
            yield Report(found.finding)
        self._members[refusal[-1].order].refuse(refusal[-1])
