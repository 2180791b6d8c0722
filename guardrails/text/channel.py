"""One growing text of a stream: what is decided of it, what is held, what has been found."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from guardrails.processor import Finding
from guardrails.surfaces import whole_characters
from guardrails.text.edits import Edit, Found, clusters, edit, in_order
from guardrails.text.escapes import Escapes
from guardrails.text.member import Member, Place, Reader
from guardrails.text.reader import PieceReader

_SAID: Final = ("text", "reasoning")
"""Surfaces on which text is read as the model said it; elsewhere JSON escapes are resolved."""

_HIGH: Final = ("\ud800", "\udbff")
"""The first and the last high surrogate, the half that comes first."""


class Channel:
    """A text with an identity, read by each processor of a group.

    Args:
        place: its surface, and its id there.
        members: the group.
        in_pieces: whether each piece of it is read alone besides, see `part`.

    Attributes:
        place: its surface, and its id there.
        settled: everything before this offset has been decided by all readers and may be released.
        end: characters taken so far, each JSON escape one; what waits for the rest of one is included.
        refusal: the finding that blocks, once all before it is decided; it stands at `settled`.
    """

    def __init__(self, place: Place, members: Sequence[Member], *, in_pieces: bool = False) -> None:
        self.place = place
        looking = [member for member in members if place.surface in member.surfaces]
        self._readers: list[Reader] = [reader for member in looking for reader in _opened(member, place)]
        self._pieces = [PieceReader(member, place) for member in looking] if in_pieces else []
        self._readers += self._pieces
        self._text, self._base, self._half = "", 0, ""
        self._escapes = None if place.surface in _SAID else Escapes()
        self._found: list[Found] = []
        self._edits: deque[Edit] = deque()
        self._covered, self._decided = 0, 0
        self.end, self.settled = 0, 0
        self.refusal: tuple[Found, ...] = ()

    def feed(self, text: str) -> None:
        """Take more text."""
        if self._half or not text.isascii():
            text = self._whole_characters(text)
        waiting = len(self._half)
        if self._escapes is not None:
            text = self._escapes.feed(text)
            waiting += bool(self._escapes.waiting)
        self._text += text
        self.end = self._base + len(self._text) + waiting
        for reader in self._readers:
            self._found += reader.feed(text)
        self._decide()

    def part(self) -> None:
        """A piece of the text is complete."""
        for reader in self._pieces:
            self._found += reader.close()
        self._decide()

    def close(self) -> None:
        """The text is complete."""
        rest, self._half = self._half, ""
        if self._escapes is not None:
            rest = self._escapes.close() + self._escapes.feed(rest)
        if rest:
            self._text += rest
            self.end = self._base + len(self._text)
            for reader in self._readers:
                self._found += reader.feed(rest)
        for reader in self._readers:
            self._found += reader.close()
        self._decide()

    def collect(self) -> None:
        """Take in the answers of checks that are done by now."""
        for reader in self._readers:
            self._found += reader.collect()
        self._decide()

    def untouched(self, start: int, text: str) -> bool:
        """Whether `text`, just fed at `start`, is all there is to release and leaves as it came."""
        return (
            self.settled >= self.end
            and self._base == start
            and not self._edits
            and self._covered <= start
            and self._text == text
        )

    def skip(self) -> None:
        """Everything taken so far has been released."""
        self._text, self._base = "", self.end

    def release(self, start: int, stop: int) -> list[str | Finding]:
        """What leaves for the characters from `start` to `stop`: texts, and findings at their place."""
        out: list[str | Finding] = []
        at = max(start, self._covered)
        while self._edits and self._edits[0].start < stop:
            change = self._edits.popleft()
            if change.start > at:
                out.append(self._written(at, change.start))
                at = change.start
            out += change.findings
            if change.text is not None:
                at = self._covered = change.end
                if text := self._instead(change, change.text):
                    out.append(text)
        if at < stop:
            out.append(self._written(at, stop))
        self._text, self._base = self._text[stop - self._base :], stop
        return out

    def overflow(self) -> Found:
        """The finding that blocks because too much waits here, in the name of who has decided least."""
        laggard = min(self._readers, key=lambda reader: reader.settled)
        return laggard.member.limit("limit.waiting", self.place, self.settled, self.end)

    def _written(self, start: int, stop: int) -> str:
        text = self._slice(start, stop)
        return text if self._escapes is None else self._escapes.written(start, text)

    def _instead(self, change: Edit, text: str) -> str:
        if self._escapes is None:
            return text
        return self._escapes.instead(change.start, self._slice(change.start, change.end), text)

    def _slice(self, start: int, stop: int) -> str:
        return self._text[start - self._base : stop - self._base]

    def _whole_characters(self, text: str) -> str:
        """Join surrogates that a cut has parted; a half at the end waits for the other."""
        text = whole_characters(self._half + text)
        self._half = text[-1] if _HIGH[0] <= text[-1] <= _HIGH[1] else ""
        return text[:-1] if self._half else text

    def _decide(self) -> None:
        """Settle as far as every reader has, short of any cluster that this would cut."""
        settled = self._base + len(self._text)
        for reader in self._readers:
            settled = min(settled, reader.settled)
        if settled == self._decided or self.refusal:
            return  # what has been found since lies beyond it
        self._decided = settled
        if not self._found:
            self.settled = settled
            return
        # A piece and the text that it is a part of may show the same.
        self._found = in_order(dict.fromkeys(self._found) if self._pieces else self._found)
        self._settle_clusters(settled)
        done = bisect_left(self._found, self.settled, key=lambda one: one.start)
        del self._found[:done]

    def _settle_clusters(self, settled: int) -> None:
        """Turn clusters that are decided as a whole into edits; a refusing one ends what is settled."""
        edits: list[Edit] = []
        for cluster in clusters(one for one in self._found if one.finding.strategy != "warn"):
            if cluster[0].start >= settled:
                break
            start, end = cluster[0].start, max(one.end for one in cluster)
            refusing = next((one for one in cluster if one.finding.strategy == "block"), None)
            # No reader that is past its start can still find anything that refuses earlier.
            if refusing is not None and refusing.start < settled:
                self.refusal = (*(one for one in cluster if one.start < refusing.start), refusing)
                settled = start
                break
            if end > settled:
                settled = min(settled, start)
                break
            edits.append(edit(cluster, self._slice(start, end)))
        self.settled = settled
        edits += [
            Edit(one.start, one.start, None, (one.finding,))
            for one in takewhile(lambda one: one.start < settled, self._found)
            if one.finding.strategy == "warn"
        ]
        self._edits.extend(sorted(edits, key=lambda change: change.start))


def _opened(member: Member, place: Place) -> Sequence[Reader]:
    """The readers of a member; one that cannot begin refuses in its own name."""
    try:
        return member.open(member, place)
    except Exception as error:  # noqa: BLE001 - fail closed, whatever it is
        member.run.fail(error, surface=place.surface, channel=place.channel)
