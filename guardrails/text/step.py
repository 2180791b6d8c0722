"""The step of text processors: one queue in which nothing overtakes held text."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, cast

from anyio.lowlevel import checkpoint

from guardrails.chunks import (
    BackgroundTaskCancelled,
    BackgroundTaskCompleted,
    BackgroundTaskFailed,
    Chunk,
    Finish,
    Object,
    ObjectResult,
    StepFinish,
    TextEnd,
    TextStart,
    ToolCall,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    ToolError,
    ToolOutputDenied,
    ToolResult,
    UnknownChunk,
    dump_chunk,
)
from guardrails.content import Inside, innermost, owner_of, rewritten
from guardrails.processor import END, WAKE, Item, Report
from guardrails.surfaces import (
    CALL_PARTS,
    CLOSINGS,
    COPIES,
    DELTAS,
    SURFACES,
    Delta,
    Surface,
    joinable,
    plain,
    size_of,
)
from guardrails.text.calls import Call
from guardrails.text.channel import Channel
from guardrails.text.edits import Found
from guardrails.text.feeds import SLICE, Feeds
from guardrails.text.leaves import Known, Leaves
from guardrails.text.member import Member, Place
from guardrails.text.queue import Beside, CallPart, Entry, Hold, Pictured, Piece, Refused, Whole
from guardrails.text.snapshots import Snapshots

MOST_TEXTS: Final = 1024
"""Texts that may be open at once; a producer that opens more never closes them, and memory has an end."""

_Scope: TypeAlias = tuple[str, tuple[str, ...]]
"""Whose texts these are: the run, and whose streams stand around it."""

_Key: TypeAlias = tuple[Surface, _Scope, str]

_NOT_OPENED: Final = frozenset({TextStart, TextEnd})
"""Chunk types without content, if they carry nothing beside the protocol's own keys."""

_OBJECTS: Final = (Object, ObjectResult)
_FRAMES: Final = (StepFinish, Finish)
_ANSWERS: Final = (ToolResult, ToolError, ToolOutputDenied)
_TASK_ENDS: Final = (BackgroundTaskCompleted, BackgroundTaskFailed, BackgroundTaskCancelled)
_ENDINGS: Final = ("-result", "-end", "-finish", "-canceled")
"""How the types of other chunks end with which a step or a workflow is over."""


class TextStep:
    """Scans the texts of one stream for the members of a group, and releases what is decided."""

    def __init__(self, members: Sequence[Member], max_waiting: int) -> None:
        self._members = members
        # In copies everything is looked at, hidden where it would be refused, and not told again.
        self._copying = [replace(member, surfaces=SURFACES, copies=True) for member in members]
        self._record = members[0].run.record
        self._surfaces = {surface for member in members for surface in member.surfaces}
        self._max_waiting = max_waiting
        self._run, self._first_run, self._ended = "", "", False
        self._texts: dict[_Key, Channel] = {}
        self._calls: dict[tuple[_Scope, str], Call] = {}
        self._objects: dict[_Scope, Snapshots] = {}
        self._queue: deque[Entry] = deque()
        self._feeds, self._known = Feeds(), Known()
        self._waiting = 0

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
            self._close_all()
        elif kind is Report or (kind in _NOT_OPENED and not self._queue and plain(item)):
            return self._take_bare(item)
        else:
            return self._fed(self._take(cast("Chunk", item)))
        return self._fed(self._drain)

    def _fed(self, then: Callable[[], Iterable[Item]]) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Go on once all that has come is looked through."""
        if self._feeds.large:
            return self._slowly(then)
        for _ in self._feeds.flush():
            pass
        return then()

    async def _slowly(self, then: Callable[[], Iterable[Item]]) -> Iterable[Item]:
        for _ in self._feeds.flush():
            await checkpoint()
        return then()

    def _take_bare(self, item: Item) -> Iterable[Item]:
        """Take what has no content."""
        if type(item) is TextEnd:
            self._close_text("text", self._scope(item, ()), item)
        if not self._queue:
            return (item,)
        self._push(Whole(item, None, self._size(item)))
        return self._drain()

    # --- growing texts

    def _delta(self, delta: Delta, surface: Surface) -> Iterable[Item] | Awaitable[Iterable[Item]]:
        """Take a plain delta, as most chunks are."""
        payload = delta.payload
        scope = self._scope(delta, ())
        if surface not in self._surfaces:
            self._complete_calls(scope, delta)
            return self._fed(partial(self._take_bare, delta))
        key = self._key(surface, scope, payload.id, named=delta.run_id is not None)
        channel = self._channel(key, payload.id)
        if channel is None:
            return self._drain()
        start = channel.end
        if self._calls or len(payload.text) > SLICE:
            self._complete_calls(scope, delta)
            self._feeds.feed(channel, payload.text)
            return self._fed(partial(self._push_delta, delta, channel, start))
        channel.feed(payload.text)
        if not self._queue and channel.untouched(start, payload.text):
            channel.skip()
            return (delta,)
        return self._push_delta(delta, channel, start)

    def _push_delta(self, delta: Delta, channel: Channel, start: int) -> Iterable[Item]:
        """Put a delta that has been looked through into the queue."""
        text = delta.payload.text
        last = self._queue[-1] if self._queue else None
        if isinstance(last, Piece) and last.channel is channel and joinable(last.delta, delta):
            self._waiting += channel.end - start
            last.extend(delta, text)
        else:
            self._push(Piece(delta, text, channel, start))
        return self._drain()

    def _channel(self, key: _Key, name: str) -> Channel | None:
        """The text that is kept there; None if there are too many, which is refused."""
        channel = self._texts.get(key)
        if channel is None and not self._too_many(place := Place(key[0], name)):
            channel = self._texts[key] = Channel(place, self._members)
        return channel

    def _too_many(self, place: Place) -> bool:
        full = len(self._texts) + len(self._calls) + len(self._objects) >= MOST_TEXTS
        if full:
            self._push(Refused(self._members[0].limit("limit.texts", place, 0, 0)))
        return full

    # --- other chunks

    def _take(self, item: Chunk) -> Callable[[], Iterable[Item]]:
        """Take any other chunk, which may carry another one; what is to be done once it is looked through."""
        inside = innermost(item)
        chunk: Any = inside.chunk
        kind = type(chunk)
        scope = self._scope(chunk, inside.owners)
        if kind in CALL_PARTS and "tool_args" in self._surfaces:
            self._take_call(item, inside, scope)
            return self._drain
        self._complete_calls(scope, chunk)
        self._close_after(scope, chunk)
        surface = DELTAS.get(kind)
        if surface in self._surfaces:
            return self._take_delta(item, inside, scope, surface)
        if kind in _OBJECTS and "object" in self._surfaces:
            self._take_object(item, inside, scope)
        else:
            self._push(Whole(item, self._beside(item, inside, None), self._size(item)))
        return self._drain

    def _take_delta(
        self, item: Chunk, inside: Inside, scope: _Scope, surface: Surface
    ) -> Callable[[], Iterable[Item]]:
        """Take a delta that is carried by another chunk, or that carries more than its text."""
        delta: Any = inside.chunk
        text, id_ = delta.payload.text, delta.payload.id
        key = self._key(surface, scope, id_, named=delta.run_id is not None)
        channel = self._channel(key, _name(inside, id_))
        if channel is None:
            return self._drain
        path = (*inside.path, "payload", "text")
        beside = self._beside(item, inside, path)
        start = channel.end
        self._feeds.feed(channel, text)

        def push() -> Iterable[Item]:
            place = path if inside.path else None
            self._push(
                Piece(
                    item, text, channel, start, beside, place, more=not plain(delta), extra=self._size(item)
                )
            )
            return self._drain()

        return push

    def _take_call(self, item: Chunk, inside: Inside, scope: _Scope) -> None:
        part: Any = inside.chunk
        key = self._call_key(scope, part)
        place = Place("tool_args", _name(inside, key[1]))
        call = self._calls.get(key)
        if call is None:
            if self._too_many(place):
                return
            call = self._calls[key] = Call(place, self._members, self._feeds)
        path: tuple[str, ...] | None = None
        first = False
        match part:
            case ToolCallDelta():
                path = (*inside.path, "payload", "argsTextDelta")
                first = call.add(part.payload.args_text_delta)
            case ToolCallInputStreamingEnd():
                call.ended = True
            case ToolCall():
                path = (*inside.path, "payload", "args")
                call.complete(part.payload.args)
                del self._calls[key]
            case _:
                pass
        beside = self._beside(item, inside, path)
        self._push(CallPart(call, beside, path, self._size(item), first=first))

    def _take_object(self, item: Chunk, inside: Inside, scope: _Scope) -> None:
        chunk: Any = inside.chunk
        snapshots = self._objects.get(scope)
        if snapshots is None:
            if self._too_many(Place("object", _name(inside, "object"))):
                return
            snapshots = self._objects[scope] = Snapshots(self._members, _name(inside, ""), self._feeds)
        final = type(chunk) is ObjectResult
        snapshot = snapshots.take(chunk.object, final=final)
        if final:
            del self._objects[scope]
        path = (*inside.path, "object")
        self._push(Pictured(snapshot, self._beside(item, inside, path), path, self._size(item)))

    def _beside(self, item: Chunk, inside: Inside, skipped: tuple[str, ...] | None) -> Beside:
        copies = type(inside.chunk) in COPIES
        members, known = (self._copying, self._known) if copies else (self._members, None)
        leaves = Leaves(members, _name(inside, ""), self._feeds, known)
        rewritten(dump_chunk(item, keep_bytes=True), inside.roots, leaves.note, skipped)
        return Beside(item, inside, skipped, leaves, silent=copies)

    # --- what is open

    def _scope(self, chunk: Any, owners: tuple[str, ...]) -> _Scope:
        """Whose texts a chunk is about; one that names no run belongs to the run that spoke last."""
        run = self._run
        if chunk.run_id is not None:
            self._first_run = self._first_run or chunk.run_id
            run = "" if chunk.run_id == self._first_run else chunk.run_id
        if not owners:
            self._run = run
        return (run, owners)

    def _key(self, surface: Surface, scope: _Scope, id_: str, *, named: bool) -> _Key:
        """Under what a text is kept; one whose run is not named may have been begun in another run."""
        key = surface, scope, id_
        if named or key in self._texts:
            return key
        alike = (one for one in self._texts if (one[0], one[1][1], one[2]) == (surface, scope[1], id_))
        return next(alike, key)

    def _call_key(self, scope: _Scope, part: Any) -> tuple[_Scope, str]:
        """The same for a call."""
        key = scope, part.payload.tool_call_id
        if part.run_id is not None or key in self._calls:
            return key
        return next((one for one in self._calls if (one[0][1], one[1]) == (scope[1], key[1])), key)

    def _complete_calls(self, scope: _Scope, chunk: Any) -> None:
        """A call is complete without a `tool-call` when something else comes after its input has ended."""
        answered = chunk.payload.tool_call_id if type(chunk) in _ANSWERS else None
        for key in [key for key in self._calls if key[0] == scope]:
            if self._calls[key].ended or type(chunk) in _FRAMES or key[1] == answered:
                self._calls.pop(key).complete()

    def _close_after(self, scope: _Scope, chunk: Any) -> None:
        """Close what does not grow any more after a chunk."""
        kind = type(chunk)
        if kind in _FRAMES:
            self._close_scope(scope)
        elif kind in CLOSINGS:
            self._close_text(CLOSINGS[kind], scope, chunk)
            self._close_object(scope)
        elif (
            kind in _ANSWERS or kind in _TASK_ENDS or (kind is UnknownChunk and chunk.type.endswith(_ENDINGS))
        ):
            self._close_within(scope, owner_of(chunk))

    def _close_text(self, surface: Surface, scope: _Scope, closing: Any) -> None:
        key = self._key(surface, scope, closing.payload.id, named=closing.run_id is not None)
        channel = self._texts.pop(key, None)
        if channel is not None:
            channel.close()

    def _close_object(self, scope: _Scope) -> None:
        if scope in self._objects:
            self._objects[scope].close()

    def _close_scope(self, scope: _Scope) -> None:
        """A step has ended: none of its texts grows any more."""
        for key in [key for key in self._texts if key[1] == scope]:
            self._texts.pop(key).close()
        self._close_object(scope)
        self._objects.pop(scope, None)

    def _close_within(self, scope: _Scope, owner: str) -> None:
        """What a tool has streamed is over when it has answered."""
        around = scope[1]
        open_scopes = {key[1] for key in self._texts} | {key[0] for key in self._calls} | set(self._objects)
        within = [inner for inner in open_scopes if inner[1][: len(around) + 1] == (*around, owner)]
        for inner in within:
            for call in [key for key in self._calls if key[0] == inner]:
                self._calls.pop(call).complete()
            self._close_scope(inner)

    def _close_all(self) -> None:
        for call in self._calls.values():
            call.complete()
        for channel in self._texts.values():
            channel.close()
        for snapshots in self._objects.values():
            snapshots.close()
        self._calls, self._texts, self._objects = {}, {}, {}

    # --- the queue

    def _size(self, item: Item) -> int:
        """Characters that an item counts as; no single chunk, such as an image, fills what may wait."""
        return size_of(item, self._max_waiting // 4)

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
