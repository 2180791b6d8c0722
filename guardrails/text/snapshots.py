"""A structured output that grows from snapshot to snapshot: each of its leaves is a growing text."""

from collections.abc import Sequence
from typing import Any, Final

from guardrails.content.inside import Path
from guardrails.content.walk import rewritten_value, told
from guardrails.processor import Finding
from guardrails.surfaces import Surface
from guardrails.text.channel import Channel
from guardrails.text.feeds import Feeds
from guardrails.text.leaves import put_back
from guardrails.text.member import Member, Place

_PATH: Final = ("object",)


class _Leaf:
    """A leaf that may still grow.

    Attributes:
        channel: what is decided of it.
        text: as far as it has been seen.
        said: what has left of it.
        closed: whether it cannot grow any more.
    """

    __slots__ = ("_feeds", "_released", "channel", "closed", "said", "text")

    def __init__(self, channel: Channel, feeds: Feeds) -> None:
        self.channel, self._feeds, self.text, self.said = channel, feeds, "", ""
        self.closed, self._released = False, 0

    def grow(self, text: str) -> None:
        self._feeds.feed(self.channel, text[len(self.text) :])
        self.text = text

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._feeds.then(self.channel.close)

    def release(self, stop: int) -> list[Finding]:
        findings: list[Finding] = []
        if stop > self._released:
            for part in self.channel.release(self._released, stop):
                if isinstance(part, str):
                    self.said += part
                else:
                    findings.append(part)
            self._released = stop
        return findings


class Snapshots:
    """The snapshots of one structured output."""

    def __init__(self, members: Sequence[Member], name: str, feeds: Feeds) -> None:
        self._members, self._name, self._feeds = members, name, feeds
        self._leaves: dict[Path, _Leaf] = {}

    def take(self, value: Any, *, final: bool) -> "Snapshot":
        """Take the next snapshot; all but its last leaf are complete, and all are if it is the final one."""
        seen: dict[Path, _Leaf] = {}

        def note(surface: Surface, place: Path, text: str) -> str:
            path = place
            while path in seen:
                path = (*path, "'")  # a file is looked at both decoded and as it stands
            leaf = self._leaves.get(path)
            if leaf is None or not text.startswith(leaf.text) or (leaf.closed and text != leaf.text):
                leaf = _Leaf(
                    Channel(Place(surface, f"{self._name}{told(place)}"), self._members), self._feeds
                )
            if not leaf.closed:
                leaf.grow(text)
            if seen:
                seen[next(reversed(seen))].close()
            seen[path] = leaf
            return text

        rewritten_value(value, "object", _PATH, note)
        for path, leaf in self._leaves.items():
            if seen.get(path) is not leaf:
                leaf.close()  # it was taken back
        self._leaves = seen
        if final:
            self.close()
        snapshot = Snapshot(value, list(seen.values()))
        self._feeds.then(snapshot.mark)
        return snapshot

    def close(self) -> None:
        """The last snapshot was the last one."""
        for leaf in self._leaves.values():
            leaf.close()


class Snapshot:
    """One snapshot, and how far each of its leaves had grown."""

    __slots__ = ("_ends", "_leaves", "value")

    def __init__(self, value: Any, leaves: Sequence[_Leaf]) -> None:
        self.value, self._leaves = value, leaves
        self._ends: list[int] = []

    def mark(self) -> None:
        """Its leaves have been looked through, and do not grow for it any more."""
        self._ends = [leaf.channel.end for leaf in self._leaves]

    @property
    def channels(self) -> list[Channel]:
        """The channels, for checks whose answers have come."""
        return [leaf.channel for leaf in self._leaves]

    def undecided(self) -> Channel | None:
        """The first leaf that is not decided as far as it had grown."""
        ends = zip(self._leaves, self._ends, strict=True)
        return next((leaf.channel for leaf, end in ends if leaf.channel.settled < end), None)

    def release(self) -> tuple[Any, list[Finding]]:
        """The value as it may leave, and what was found, up to the first leaf that is not decided."""
        findings: list[Finding] = []
        for leaf, end in zip(self._leaves, self._ends, strict=True):
            findings += leaf.release(min(end, leaf.channel.settled))
            if leaf.channel.settled < end:
                return None, findings
        texts = [leaf.said for leaf in self._leaves]
        return rewritten_value(self.value, "object", _PATH, put_back(texts)), findings
