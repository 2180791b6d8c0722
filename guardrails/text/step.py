"""The step of text processors: one queue in which nothing overtakes held text."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, cast

from anyio.lowlevel import checkpoint

from guardrails.chunks import (
    Chunk,
    Object,
    ObjectResult,
    TextEnd,
    TextStart,
    ToolCall,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    dump_chunk,
)
from guardrails.content.inside import Inside, innermost
from guardrails.content.walk import rewritten
from guardrails.processor import END, WAKE, Item, Report
from guardrails.surfaces import (
    CALL_PARTS,
    COPIES,
    DELTAS,
    SURFACES,
    Delta,
    Surface,
    plain,
    size_of,
)
from guardrails.text.calls import Call
from guardrails.text.channel import Channel
from guardrails.text.edits import Found
from guardrails.text.feeds import SLICE, Feeds
from guardrails.text.leaves import Grown, Known, Leaves
from guardrails.text.member import Member, Place
from guardrails.text.opened import Opened, Scope, TooManyTextsError
from guardrails.text.queue import Beside, CallPart, Entry, Hold, Pictured, Piece, Refused, Whole

_NOT_OPENED: Final = frozenset({TextStart, TextEnd})
"""Chunk types without content, if they carry nothing beside the protocol's own keys."""

_OBJECTS: Final = (Object, ObjectResult)

_LEAST_AROUND: Final = 8
"""Characters that a delta in another chunk, or with more than its text, counts as besides it at least."""

_USUAL_AROUND: Final = 1000
"""Characters of ids, names and metadata that are usual around a delta, as `repr` writes them."""

_Then: TypeAlias = Callable[[], Iterable[Item]]
"""What is to be done once everything that has come is looked through."""


class TextStep:
    """Scans the texts of one stream for the members of a group, and releases what is decided."""

    def __init__(self, members: Sequence[Member], max_waiting: int) -> None:
        self._members = members
        # In copies everything is looked at, hidden where it would be refused, and not told again.
        self._copying = [replace(member, surfaces=SURFACES, copies=True) for member in members]
        self._record = members[0].run.record
        self._surfaces = {surface for member in members for surface in member.surfaces}
        self._max_waiting = max_waiting
        self._feeds, self._known = Feeds(), Known()
        self._open = Opened(members, self._feeds)
        self._queue: deque[Entry] = deque()
        self._waiting, self._ended = 0, False

    def __call__(self, item: Item) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Take one item; give what is decided by it, later if there is much to look through."""
        kind = type(item)
        if kind in DELTAS and plain(item):
            return self._delta(item, DELTAS[kind])  # type: ignore[arg-type]  # a cast costs a call
        if item is WAKE:
            for channel in dict.fromkeys(each for entry in self._queue for each in entry.channels()):
                channel.collect()
        elif item is END:
            self._ended = True
            self._open.close_all()
        elif kind is Report or (kind in _NOT_OPENED and not self._queue and plain(item)):
            return self._take_bare(item)
        else:
            return self._fed(self._take_any(cast("Chunk", item)))
        return self._fed(self._drain)

    def _fed(self, then: _Then) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Go on once all that has come is looked through."""
        if self._feeds.large:
            return self._slowly(then)
        for _ in self._feeds.flush():
            pass
        return then()

    async def _slowly(self, then: _Then) -> Iterable[Item]:
        for _ in self._feeds.flush():
            await checkpoint()
        return then()

    def _take_bare(self, item: Item) -> Iterable[Item]:
        """Take what has no content."""
        if type(item) is TextEnd:
            self._open.close_text("text", self._open.scope(item, ()), item)
        if not self._queue:
            return (item,)
        self._push(Whole(item, None, self._size(item)))
        return self._drain()

    # --- growing texts

    def _delta(self, delta: Delta, surface: Surface) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Take a plain delta, as most chunks are."""
        channel = self._open.again(surface, delta)
        if channel is None:
            return self._first_delta(delta, surface)
        return self._more_text(delta, channel)

    def _first_delta(self, delta: Delta, surface: Surface) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Take a plain delta before which something else came."""
        scope = self._open.scope(delta, ())
        self._open.complete_calls(scope, delta)
        if surface not in self._surfaces:
            return self._fed(partial(self._take_bare, delta))
        try:
            channel = self._open.text(Place(surface, delta.payload.id), scope, delta)
        except TooManyTextsError as limit:
            return self._fed(partial(self._too_many, limit.place))
        return self._more_text(delta, channel)

    def _more_text(self, delta: Delta, channel: Channel) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        text, start = delta.payload.text, channel.end
        if self._feeds.any or len(text) > SLICE:
            self._feeds.feed(channel, text)
            return self._fed(partial(self._push_delta, delta, channel, start))
        channel.feed(text)
        if not self._queue and channel.untouched(start, text):
            channel.skip()
            return (delta,)
        return self._push_delta(delta, channel, start)

    def _push_delta(self, delta: Delta, channel: Channel, start: int) -> Iterable[Item]:
        """Put a delta that has been looked through into the queue."""
        text = delta.payload.text
        last = self._queue[-1] if self._queue else None
        if isinstance(last, Piece) and last.takes(delta, channel):
            self._waiting += channel.end - start
            last.extend(delta, text)
        else:
            self._push(Piece(delta, text, channel, start))
        return self._drain()

    def _too_many(self, place: Place) -> Iterable[Item]:
        """Refuse because more texts are open than may be."""
        self._push(Refused(self._members[0].limit("limit.texts", place, 0, 0)))
        return self._drain()

    # --- other chunks

    def _take_any(self, item: Chunk) -> _Then:
        """Take any other chunk, which may carry another one; what is to be done once it is looked through."""
        try:
            return self._take(item)
        except TooManyTextsError as limit:
            return partial(self._too_many, limit.place)

    def _take(self, item: Chunk) -> _Then:
        inside = innermost(item)
        chunk: Any = inside.chunk
        kind = type(chunk)
        scope = self._open.scope(chunk, inside.owners)
        if kind in CALL_PARTS and "tool_args" in self._surfaces:
            return self._take_call(item, inside, scope)
        self._open.complete_calls(scope, chunk)
        self._open.close_after(scope, chunk)
        surface = DELTAS.get(kind)
        if surface in self._surfaces:
            return self._take_delta(item, inside, scope, surface)
        if kind in _OBJECTS and "object" in self._surfaces:
            return self._take_object(item, inside, scope)
        beside = self._beside(item, inside, None, self._open.grown(_name(inside, ""), inside, scope))
        return self._pushed(Whole(item, beside, self._size(item)))

    def _take_delta(self, item: Chunk, inside: Inside, scope: Scope, surface: Surface) -> _Then:
        """Take a delta that is carried by another chunk, or that carries more than its text."""
        delta: Any = inside.chunk
        text = delta.payload.text
        place = Place(surface, _name(inside, delta.payload.id))
        channel = self._open.text(place, scope, delta)
        path = (*inside.path, "payload", "text")
        beside, start = self._beside(item, inside, path), channel.end
        self._feeds.feed(channel, text)

        def push() -> Iterable[Item]:
            more, extra = bool(inside.path) or not plain(delta), self._around(item, text)
            at = path if inside.path else None
            self._push(Piece(item, text, channel, start, beside, at, more=more, extra=extra))
            return self._drain()

        return push

    def _take_call(self, item: Chunk, inside: Inside, scope: Scope) -> _Then:
        part: Any = inside.chunk
        place = Place("tool_args", _name(inside, part.payload.tool_call_id))
        call = self._open.call(place, scope, part)
        path: tuple[str, ...] | None = None
        first, size = False, self._size(item)
        match part:
            case ToolCallDelta():
                path, text = (*inside.path, "payload", "argsTextDelta"), part.payload.args_text_delta
                first, size = call.add(text), len(text) + self._around(item, text)
                if not first and not inside.path and plain(part):
                    return partial(self._more_arguments, call, len(text))
            case ToolCallInputStreamingEnd():
                call.ended = True
            case ToolCall():
                path = (*inside.path, "payload", "args")
                self._open.complete(call, part.payload.args)
        beside = self._beside(item, inside, path)
        return self._pushed(CallPart(call, beside, path, size, first=first))

    def _more_arguments(self, call: Call, size: int) -> Iterable[Item]:
        """A plain piece leaves in the first one of its call, so that nothing but its text waits."""
        size = size or 1  # an empty one takes memory too
        call.more += size
        self._waiting += size
        return self._drain()

    def _take_object(self, item: Chunk, inside: Inside, scope: Scope) -> _Then:
        chunk: Any = inside.chunk
        name, final = _name(inside, ""), type(chunk) is ObjectResult
        snapshot = self._open.snapshots(name, scope, final=final).take(chunk.object, final=final)
        path = (*inside.path, "object")
        beside = self._beside(item, inside, path)
        return self._pushed(Pictured(snapshot, beside, path, self._size(item)))

    def _pushed(self, entry: Entry) -> _Then:
        """Put something into the queue; what is to be done once it is looked through."""
        self._push(entry)
        return self._drain

    def _beside(
        self, item: Chunk, inside: Inside, skipped: tuple[str, ...] | None, grown: Grown | None = None
    ) -> Beside:
        copies = type(inside.chunk) in COPIES
        members, known = (self._copying, self._known) if copies else (self._members, None)
        leaves = Leaves(members, _name(inside, ""), self._feeds, known, grown)
        given = dump_chunk(item, keep_bytes=True)
        leaves.take(lambda visit: rewritten(given, inside.roots, visit, skipped))
        return Beside(item, inside, skipped, leaves, silent=copies)

    # --- the queue

    def _size(self, item: Item) -> int:
        """Characters that an item counts as; no single chunk, such as an image, fills what may wait."""
        return size_of(item, self._max_waiting // 4)

    def _around(self, item: Item, text: str) -> int:
        """Characters that a delta counts as besides its text: few for what is usual."""
        return max(_LEAST_AROUND, self._size(item) - len(text) - _USUAL_AROUND)

    def _push(self, entry: Entry) -> None:
        self._waiting += entry.size
        self._queue.append(entry)
        self._ended = False

    def _drain(self) -> Iterable[Item]:
        """Release from the front of the queue up to the first character that is not decided."""
        out: list[Item] = []
        while self._queue:
            head = self._queue[0]
            size = head.size
            hold = head.release(out)
            if hold is not None:
                self._waiting -= size - head.size
                return self._wait(out, hold)
            self._waiting -= size
            self._queue.popleft()
        self._record.full = False
        return out

    def _wait(self, out: list[Item], hold: Hold) -> Iterable[Item]:
        """The front is undecided, or refused. What waits for a check is bounded by reading no more."""
        if isinstance(hold, Found):
            return self._refuse(out, (hold,))
        if isinstance(hold, Channel) and hold.refusal:
            return self._refuse(out, hold.refusal)
        idle = not self._record.under_way and not self._record.news
        if self._ended and idle:
            raise RuntimeError("the stream has ended, and some of it has never been decided")
        self._record.full = self._waiting > self._max_waiting
        if self._record.full and idle:
            overflow = (
                hold.overflow()
                if isinstance(hold, Channel)
                else self._members[0].limit("limit.waiting", hold, 0, 0)
            )
            return self._refuse(out, (overflow,))
        return out

    def _refuse(self, out: list[Item], refusal: Sequence[Found]) -> Iterator[Item]:
        yield from out
        for found in refusal:
            yield Report(found.finding)
        self._members[refusal[-1].order].refuse(refusal[-1])


def _name(inside: Inside, id_: str) -> str:
    """What names a text in findings: its id behind those of what carries it."""
    payload: Any = getattr(inside.chunk, "payload", None)
    own = id_ or getattr(payload, "tool_call_id", None) or getattr(payload, "id", None) or ""
    name = "/".join(part for part in (*inside.owners, own) if isinstance(part, str) and part)
    return name if id_ else f"{name}:" if name else ""
