"""What of a stream is open: texts that may grow, calls that are not complete, structured outputs."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from guardrails.chunks import (
    BackgroundTaskCancelled,
    BackgroundTaskCompleted,
    BackgroundTaskFailed,
    Raw,
    ToolError,
    ToolOutputDenied,
    ToolResult,
    UnknownChunk,
)
from guardrails.content.inside import Inside, Path, owner_of
from guardrails.content.pieces import growing
from guardrails.content.walk import told
from guardrails.surfaces import CLOSINGS, FRAMES, STREAMED, Surface
from guardrails.text.calls import Call
from guardrails.text.channel import Channel
from guardrails.text.feeds import Feeds
from guardrails.text.leaves import Grown
from guardrails.text.member import Member, Place
from guardrails.text.snapshots import Snapshots

MOST_TEXTS: Final = 1024
"""Texts that may be open at once; a producer that opens more never closes them, and memory has an end."""

Scope: TypeAlias = tuple[str, tuple[str, ...]]
"""Whose texts these are: the run, and whose streams stand around it."""

_Key: TypeAlias = tuple[str, Scope, str]
"""Under what a text or a call is kept: its surface, whose it is, its id.

Of one that grows in chunks that are no deltas, the type of these stands behind the surface.
"""

_ANSWERS: Final = (ToolResult, ToolError, ToolOutputDenied)
_TASK_ENDS: Final = (BackgroundTaskCompleted, BackgroundTaskFailed, BackgroundTaskCancelled)
_ENDINGS: Final = ("-result", "-end", "-finish", "-canceled")
"""How the types of other chunks end with which a step or a workflow is over."""


class TooManyTextsError(Exception):
    """As many texts are open as may be.

    Attributes:
        place: the one that came too late.
    """

    def __init__(self, place: Place) -> None:
        super().__init__(f"{MOST_TEXTS} texts are open")
        self.place = place


class Opened:
    """The open texts of one stream, each by its surface, its id and whose it is.

    Args:
        members: for whom they are looked through.
        feeds: takes what is to be looked through.
    """

    def __init__(self, members: Sequence[Member], feeds: Feeds) -> None:
        self._members, self._feeds = members, feeds
        self._run, self._first_run = "", ""
        self._texts: dict[_Key, Channel] = {}
        self._calls: dict[_Key, Call] = {}
        self._objects: dict[Scope, Snapshots] = {}
        # The text of the last delta, as long as nothing but its deltas comes.
        self._last: tuple[Surface, str | None, str, Channel] | None = None

    def again(self, surface: Surface, delta: Any) -> Channel | None:
        """The text of a delta that follows one of the same text, as most do; None if it does not."""
        last = self._last
        if last is None or last[2] != delta.payload.id or last[1] != delta.run_id or last[0] != surface:
            return None
        return last[3]

    def scope(self, chunk: Any, owners: tuple[str, ...]) -> Scope:
        """Whose texts a chunk is about; one that names no run belongs to the run that spoke last."""
        self._last = None
        run = self._run
        if chunk.run_id is not None:
            self._first_run = self._first_run or chunk.run_id
            run = "" if chunk.run_id == self._first_run else chunk.run_id
        if not owners:
            self._run = run
        return (run, owners)

    def text(self, place: Place, scope: Scope, delta: Any) -> Channel:
        """The text of a delta, begun if it is new.

        Raises:
            TooManyTextsError: it cannot be begun. So it is with all that is open.
        """
        key = _key_of(place.surface, scope, delta.payload.id, delta, self._texts)
        channel = self._texts.get(key)
        if channel is None:
            channel = self._texts[key] = Channel(self._room(place), self._members)
        if not scope[1]:
            self._last = (place.surface, delta.run_id, delta.payload.id, channel)
        return channel

    def grown(self, name: str, inside: Inside, scope: Scope) -> Grown | None:
        """Finds the texts of which leaves of a chunk are pieces; None if none of them is one.

        Args:
            name: names the chunk in findings.
            inside: the chunk.
            scope: whose it is.
        """
        chunk, name_of = inside.chunk, growing(inside)
        if name_of is None:
            return None
        # A raw chunk may have an id of its own, of which nothing is said in the next.
        owner = "" if type(chunk) is Raw else owner_of(chunk)
        # What a tool streams is over with its answer, as are the streams that it carries.
        around = (scope[0], (*scope[1], owner)) if chunk.type in STREAMED else scope

        def find(surface: Surface, path: Path) -> Channel | None:
            own = name_of(path)
            if own is None:
                return None
            key = _key_of(f"{surface} {chunk.type}", around, f"{owner} {own}", chunk, self._texts)
            if key not in self._texts:
                place = self._room(Place(surface, f"{name}{told(path)}"))
                alone = not chunk.type.endswith("-delta")
                self._texts[key] = Channel(place, self._members, in_pieces=alone)
            return self._texts[key]

        return find

    def call(self, place: Place, scope: Scope, part: Any) -> Call:
        """The call of which a chunk is a part, begun if it is new."""
        key = _key_of(place.surface, scope, part.payload.tool_call_id, part, self._calls)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = Call(self._room(place), self._members, self._feeds)
        return call

    def snapshots(self, name: str, scope: Scope, *, final: bool) -> Snapshots:
        """The structured output of a stream, begun if it is new.

        Args:
            name: names it in findings.
            scope: whose it is.
            final: whether its last snapshot has come, so that it is not kept.
        """
        snapshots = self._objects.get(scope)
        if snapshots is None:
            self._room(Place("object", f"{name}object"))
            snapshots = self._objects[scope] = Snapshots(self._members, name, self._feeds)
        if final:
            self._objects.pop(scope, None)
        return snapshots

    def _room(self, place: Place) -> Place:
        """Make room for one text more, if there is none; of texts that no delta ends, a settled one goes."""
        if len(self._texts) + len(self._calls) + len(self._objects) < MOST_TEXTS:
            return place
        for key, channel in self._texts.items():
            if " " in key[0] and channel.settled >= channel.end:
                del self._texts[key]
                return place
        raise TooManyTextsError(place)

    def complete(self, call: Call, stated: Any) -> None:
        """A `tool-call` states the arguments of a call, which is complete with it."""
        self._calls = {key: one for key, one in self._calls.items() if one is not call}
        call.complete(stated)

    def complete_calls(self, scope: Scope, chunk: Any) -> None:
        """A call whose input has ended is complete, without a `tool-call`, when something else comes.

        Raw chunks may come between any two others.
        """
        kind = type(chunk)
        if kind is Raw:
            return
        answered = chunk.payload.tool_call_id if kind in _ANSWERS else None
        for key in [key for key in self._calls if key[1] == scope]:
            if self._calls[key].ended or kind in FRAMES or key[2] == answered:
                self._calls.pop(key).complete()

    def close_after(self, scope: Scope, chunk: Any) -> None:
        """Close what does not grow any more after a chunk."""
        kind = type(chunk)
        if kind in FRAMES:
            self._close_scope(scope)
        elif kind in CLOSINGS:
            self.close_text(CLOSINGS[kind], scope, chunk)
        elif (
            kind in _ANSWERS or kind in _TASK_ENDS or (kind is UnknownChunk and chunk.type.endswith(_ENDINGS))
        ):
            self._close_within(scope, owner_of(chunk))
            if kind is UnknownChunk:
                self._close_grown(scope, chunk.type.rpartition("-")[0])

    def close_text(self, surface: Surface, scope: Scope, closing: Any) -> None:
        """Close the text of that id, if it is open."""
        key = _key_of(surface, scope, closing.payload.id, closing, self._texts)
        channel = self._texts.pop(key, None)
        if channel is not None:
            channel.close()

    def close_all(self) -> None:
        """The stream is over."""
        for call in self._calls.values():
            call.complete()
        for channel in self._texts.values():
            channel.close()
        for snapshots in self._objects.values():
            snapshots.close()
        self._calls, self._texts, self._objects, self._last = {}, {}, {}, None

    def _close_grown(self, scope: Scope, beginning: str) -> None:
        """Close what has grown in chunks that are no deltas and whose types begin so."""
        for key in [key for key in self._texts if key[1] == scope]:
            kind = key[0].partition(" ")[2]
            if kind and kind.startswith(beginning):
                self._texts.pop(key).close()

    def _close_scope(self, scope: Scope) -> None:
        """A step has ended: none of its texts grows any more."""
        for key in [key for key in self._texts if key[1] == scope]:
            self._texts.pop(key).close()
        if scope in self._objects:
            self._objects.pop(scope).close()

    def _close_within(self, scope: Scope, owner: str) -> None:
        """What a tool has streamed is over when it has answered."""
        around = (*scope[1], owner)
        scopes = {key[1] for key in (*self._texts, *self._calls)} | self._objects.keys()
        for inner in [one for one in scopes if one[1][: len(around)] == around]:
            for key in [key for key in self._calls if key[1] == inner]:
                self._calls.pop(key).complete()
            self._close_scope(inner)


def _key_of(surface: str, scope: Scope, id_: str, chunk: Any, among: Iterable[_Key]) -> _Key:
    """Under what a text or call is kept; one whose run is not named may have been begun in another run."""
    key = surface, scope, id_
    if chunk.run_id is not None or key in among:
        return key
    return next((one for one in among if (one[0], one[1][1], one[2]) == (surface, scope[1], id_)), key)
