"""What waits in the queue of a step: each entry gives what is decided of it, and what keeps the rest."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from guardrails.chunks import Chunk, dump_chunk, parse_chunk, with_text
from guardrails.content.inside import Inside, Path, put
from guardrails.content.walk import rewritten
from guardrails.processor import Finding, Item, Report
from guardrails.surfaces import Delta, plain
from guardrails.text.calls import Call
from guardrails.text.channel import Channel
from guardrails.text.edits import Found
from guardrails.text.leaves import Leaves, put_back
from guardrails.text.member import Place
from guardrails.text.snapshots import Snapshot

Hold: TypeAlias = Channel | Found | Place
"""What keeps an entry: an undecided or refused text, a limit that was reached, an incomplete call."""


class Entry(Protocol):
    """Something in the queue."""

    @property
    def size(self) -> int:
        """Characters that count as waiting."""

    def release(self, out: list[Item]) -> Hold | None:
        """Give what is decided; what keeps the rest, None if nothing is left."""

    def channels(self) -> Sequence[Channel]:
        """The texts in it, for checks whose answers have come."""


class Beside:
    """The leaves of a chunk that is released as a whole, or before any piece of its growing text.

    Args:
        item: the chunk.
        inside: the chunk that it carries, or itself.
        skipped: the place of what is guarded otherwise.
        leaves: the leaves.
        silent: whether findings are not told, as those in copies.
    """

    __slots__ = ("_inside", "_leaves", "_silent", "_skipped", "item")

    def __init__(
        self,
        item: Chunk,
        inside: Inside,
        skipped: Path | None,
        leaves: Leaves,
        *,
        silent: bool = False,
    ) -> None:
        self.item, self._inside, self._skipped = item, inside, skipped
        self._leaves, self._silent = leaves, silent

    @property
    def channels(self) -> Sequence[Channel]:
        """The texts."""
        return self._leaves.channels

    def release(self, out: list[Item]) -> Channel | None:
        """Report what was found and put the answers into the chunk; the leaf that keeps it, if one does."""
        undecided = self._leaves.undecided()
        if undecided is not None and not undecided.refusal:
            return undecided
        texts, findings = self._leaves.release()
        if not self._silent:
            out += map(Report, findings)
        if undecided is None and self._leaves.changed:
            self.item = rebuilt(self.item, self._inside, texts, self._skipped)
        return undecided


def rebuilt(item: Chunk, inside: Inside, texts: Sequence[str], skipped: Path | None) -> Chunk:
    """A chunk with other leaves."""
    given = dump_chunk(item, keep_bytes=True)
    return parse_chunk(rewritten(given, inside.roots, put_back(texts), skipped))


def changed(item: Chunk, path: Path, value: Any) -> Chunk:
    """A chunk with another value at a place."""
    return parse_chunk(put(dump_chunk(item, keep_bytes=True), path, value))


class Whole:
    """A chunk without a growing text."""

    __slots__ = ("_beside", "_item", "size")

    def __init__(self, item: Item, beside: Beside | None, size: int) -> None:
        self._item, self._beside, self.size = item, beside, size

    def release(self, out: list[Item]) -> Hold | None:
        """All of it, once its leaves are decided."""
        if self._beside is not None:
            undecided = self._beside.release(out)
            if undecided is not None:
                return undecided
            self._item = self._beside.item
        out.append(self._item)
        return None

    def channels(self) -> Sequence[Channel]:
        """Its leaves."""
        return self._beside.channels if self._beside else ()


class Refused:
    """A limit that was reached."""

    __slots__ = ("_found", "size")

    def __init__(self, found: Found) -> None:
        self._found, self.size = found, 0

    def release(self, _out: list[Item]) -> Hold | None:
        """Nothing: it stops the stream here."""
        return self._found

    def channels(self) -> Sequence[Channel]:
        """None."""
        return ()


class Piece:
    """A run of a growing text: one delta, or neighbours that are one.

    Attributes:
        delta: the last chunk of the run.
        channel: the text.
        start: the first character that has not left.
        end: one past the last.
        whole: whether it is still one delta of which nothing has left.
        beside: the leaves besides, None for a plain delta and once they are decided.
        path: where the text stands in a chunk that carries the delta; None if it is the delta.

    A delta that carries `more` than its text leaves even if nothing of its text is left; what it carries
    leaves once.
    """

    __slots__ = ("_extra", "_more", "beside", "channel", "delta", "end", "path", "start", "text", "whole")

    def __init__(  # noqa: PLR0913, PLR0917 - what a piece is made of
        self,
        delta: Chunk,
        text: str,
        channel: Channel,
        start: int,
        beside: Beside | None = None,
        path: Path | None = None,
        *,
        more: bool = False,
        extra: int = 0,
    ) -> None:
        self.delta, self.text, self.channel = delta, text, channel
        self.start, self.end, self.whole = start, channel.end, True
        self.beside, self.path = beside, path
        # An entry costs memory even if its text is empty, and so does what a delta carries beside it.
        self._extra = extra or int(not text)
        self._more = more

    @property
    def size(self) -> int:
        """Characters that count as waiting."""
        return self.end - self.start + self._extra

    def takes(self, delta: Delta, channel: Channel) -> bool:
        """Whether the next plain delta of a text can be one with it."""
        mine = self.delta
        return (
            self.channel is channel
            and not self._more
            and self.path is None
            and mine.run_id == delta.run_id
            and mine.from_ == delta.from_
        )

    def extend(self, delta: Chunk, text: str) -> None:
        """Take the next delta in."""
        self.delta, self.text, self.end, self.whole = delta, text, self.channel.end, False

    def release(self, out: list[Item]) -> Hold | None:
        """What is decided of the text, with findings at their place."""
        if self.beside is not None:
            undecided = self.beside.release(out)
            if undecided is not None:
                return undecided
            self.delta, self.beside = self.beside.item, None
        self._release_text(out)
        return self.channel if self.start < self.end else None

    def _release_text(self, out: list[Item]) -> None:
        stop = min(self.end, self.channel.settled)
        parts: list[str | Finding] = []
        if stop > self.start:
            parts = self.channel.release(self.start, stop)
            self.start = stop
        done = self.start == self.end
        if self.whole and done and parts == ([self.text] if self.text else []):
            out.append(self.delta)
            return
        for part in parts:
            if isinstance(part, str):
                out.append(self._with(part))
                self.whole = False
            else:
                out.append(Report(part))
        if done and self.whole and self._more:
            # Its text has left with an earlier piece; what else it carries has not.
            out.append(self._with(""))

    def _with(self, text: str) -> Chunk:
        if self._more and not self.whole:
            self.delta, self._more = _bare(self.delta, self.path), False
        if self.path is None:
            delta: Delta = self.delta  # type: ignore[assignment]  # what grows by itself is a delta
            return with_text(delta, text)
        return changed(self.delta, self.path, text)

    def channels(self) -> Sequence[Channel]:
        """The text, and the leaves besides."""
        return [*(self.beside.channels if self.beside else ()), self.channel]


def _bare(item: Chunk, path: Path | None) -> Chunk:
    """A delta, or a chunk that carries one, without what the delta has beside its text."""
    at = path[:-2] if path else ()
    given = dump_chunk(item, keep_bytes=True)
    delta: Any = given
    for key in at:
        delta = delta[key]
    kept = {key: delta[key] for key in ("type", "runId", "from") if key in delta}
    text = {key: delta["payload"][key] for key in ("id", "text")}
    return parse_chunk(put(given, at, {**kept, "payload": text}))


class CallPart:
    """A part of a tool call; it waits for the verdict on the whole call.

    Args:
        call: the call.
        beside: the chunk, and its leaves besides the arguments.
        path: where the arguments, or a piece of their text, stand in the chunk; None if they do not.
        size: characters that it counts as while it waits.
        first: for a piece, whether it is the first, in which the whole text leaves.
    """

    __slots__ = ("_beside", "_call", "_first", "_path", "_size")

    def __init__(
        self, call: Call, beside: Beside, path: Path | None, size: int, *, first: bool = False
    ) -> None:
        self._call, self._beside, self._path, self._size = call, beside, path, size
        self._first = first

    @property
    def size(self) -> int:
        """Characters that count as waiting; with the first piece of arguments, those of the next ones."""
        return self._size + self._call.more if self._first else self._size

    def release(self, out: list[Item]) -> Hold | None:
        """All of it, once the call is decided."""
        if self._call.leaves is None:
            return self._call.place
        undecided = self._call.leaves.undecided()
        if undecided is not None and not undecided.refusal:
            return undecided
        out += map(Report, self._call.release())
        undecided = undecided or self._beside.release(out)
        if undecided is not None:
            return undecided
        item = self._beside.item
        if self._path is None:
            out.append(item)
        elif self._path[-1] == "argsTextDelta":
            self._release_delta(item, self._path, out)
        else:
            out.append(item if self._call.unchanged else changed(item, self._path, self._call.args))
        return None

    def _release_delta(self, item: Chunk, path: Path, out: list[Item]) -> None:
        """The whole text in the first delta; of the others only what they carry besides."""
        if self._first:
            out.append(changed(item, path, self._call.text))
        elif len(path) > 2 or not plain(item):  # noqa: PLR2004 - the path in a delta that nothing carries
            out.append(changed(item, path, ""))

    def channels(self) -> Sequence[Channel]:
        """The arguments, and the leaves besides."""
        return [*(self._call.leaves.channels if self._call.leaves else ()), *self._beside.channels]


class Pictured:
    """A snapshot of a structured output; it waits until its leaves are decided as far as they had grown."""

    __slots__ = ("_beside", "_path", "_snapshot", "size")

    def __init__(self, snapshot: Snapshot, beside: Beside, path: Path, size: int) -> None:
        self._snapshot, self._beside, self._path, self.size = snapshot, beside, path, size

    def release(self, out: list[Item]) -> Hold | None:
        """All of it, once it is decided."""
        undecided = self._snapshot.undecided()
        if undecided is not None and not undecided.refusal:
            return undecided
        value, findings = self._snapshot.release()
        out += map(Report, findings)
        undecided = undecided or self._beside.release(out)
        if undecided is not None:
            return undecided
        item = self._beside.item
        out.append(item if value is self._snapshot.value else changed(item, self._path, value))
        return None

    def channels(self) -> Sequence[Channel]:
        """Its leaves."""
        return [*self._snapshot.channels, *self._beside.channels]
