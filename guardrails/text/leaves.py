"""The texts of one chunk: each a channel that opens and closes at once, or a piece of one that grows."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from guardrails.content.inside import Path
from guardrails.content.walk import Visit, told
from guardrails.processor import Finding
from guardrails.surfaces import Surface, whole_characters
from guardrails.text.channel import Channel
from guardrails.text.feeds import SLICE, Feeds, sliced
from guardrails.text.member import Member, Place

MOST_KNOWN: Final = 4096
"""Texts that are remembered as clean in one stream, sixteen bytes of each."""

_SHORT: Final = 16
"""Characters up to which a text is looked at sooner than its digest is made."""

_AROUND: Final = 64
"""Characters that are looked through in the time that it takes to begin with a leaf, about."""

Grown: TypeAlias = Callable[[Surface, Path], Channel | None]
"""Given the surface and path of a leaf, gives the text of which it is a piece; None if it is complete."""


class _Leaf:
    """What a leaf says: all of a channel, or a piece of one that grows."""

    __slots__ = ("_grows", "channel", "end", "start")

    def __init__(self, channel: Channel, *, grows: bool) -> None:
        self.channel, self._grows = channel, grows
        self.start, self.end = 0, 0

    def take(self, text: str) -> Iterator[None]:
        self.start = self.channel.end
        yield from sliced(self.channel, text)
        if self._grows:
            self.channel.part()
        else:
            self.channel.close()
        self.end = self.channel.end

    @property
    def decided(self) -> bool:
        return self.channel.settled >= self.end

    def release(self) -> list[str | Finding]:
        return self.channel.release(self.start, min(self.end, self.channel.settled))


class Leaves:
    """The leaves of a value, in the order in which a walk visits them.

    Args:
        members: for whom they are looked through.
        name: names the value in findings.
        feeds: looks them through.
        known: texts that need no second look; None to look at each.
        grown: tells which leaves are pieces of a text that grows; None if none is.

    Attributes:
        changed: whether anything takes the place of any of them, once they are released.
    """

    def __init__(
        self,
        members: Sequence[Member],
        name: str,
        feeds: Feeds,
        known: "Known | None" = None,
        grown: Grown | None = None,
    ) -> None:
        self._members, self._name, self._feeds = members, name, feeds
        self._known, self._grown = known, grown
        self._noted: list[tuple[Surface, Path, str, Channel | None]] = []
        self._leaves: list[_Leaf] = []
        self._places: dict[str, int] = {}
        # Each text as it came, with the place of its leaf; None if it is known to be clean.
        self._texts: list[tuple[str, int | None]] = []
        self._clean: set[tuple[Surface, str]] = set()
        self.changed = False

    def take(self, walk: Callable[[Visit], object]) -> None:
        """Take in the leaves that a walk visits."""
        walk(self._note)
        self._feeds.take(self._look(), sum(len(text) + _AROUND for _, _, text, _ in self._noted))

    def _note(self, surface: Surface, path: Path, text: str) -> str:
        growing = self._grown(surface, path) if self._grown else None
        self._noted.append((surface, path, text, growing))
        return text

    def _look(self) -> Iterator[None]:
        """Look through the leaves; most are clean, which is told without opening a channel."""
        size = 0
        noted, self._noted = self._noted, []
        for surface, path, text, growing in noted:
            size += len(text) + _AROUND
            if size > SLICE:
                size = 0
                yield
            if self._known is not None and (text in self._places or self._known.has(text)):
                self._texts.append((text, self._places.get(text)))
            elif growing is None and self._is_clean(surface, text):
                self._texts.append((text, None))
            else:
                channel = growing or Channel(Place(surface, f"{self._name}{told(path)}"), self._members)
                leaf = _Leaf(channel, grows=growing is not None)
                self._places[text] = len(self._leaves)
                self._texts.append((text, len(self._leaves)))
                self._leaves.append(leaf)
                yield from leaf.take(text)

    def _is_clean(self, surface: Surface, text: str) -> bool:
        if (surface, text) in self._clean:  # as the keys of rows are
            return True
        if len(text) > SLICE or "\\" in text:
            return False
        said = whole_characters(text)
        if all(surface not in member.surfaces or member.clears(said) for member in self._members):
            self._clean.add((surface, text))
            return True
        return False

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels, for checks whose answers have come."""
        return [leaf.channel for leaf in self._leaves]

    def undecided(self) -> Channel | None:
        """The first text that is not decided as far as it is said here, or refused."""
        return next((leaf.channel for leaf in self._leaves if not leaf.decided), None)

    def release(self) -> tuple[list[str], list[Finding]]:
        """What takes the place of each leaf, and what was found, up to the first that is not decided."""
        said: list[str] = []
        findings: list[Finding] = []
        for leaf in self._leaves:
            parts = leaf.release()
            said.append("".join(part for part in parts if isinstance(part, str)))
            findings += [part for part in parts if not isinstance(part, str)]
            if not leaf.decided:
                return said, findings
        texts = [text if place is None else said[place] for text, place in self._texts]
        came = [text for text, _ in self._texts]
        self.changed = texts != came
        if self._known is not None:
            self._known.note(new for new, old in zip(texts, came, strict=True) if new == old)
        return texts, findings


class Known:
    """Texts in which nothing was found, by their digests: copies repeat the whole answer with every step."""

    def __init__(self) -> None:
        self._digests: dict[bytes, None] = {}

    def has(self, text: str) -> bool:
        """Whether nothing was found in it before."""
        return len(text) > _SHORT and _digest(text) in self._digests

    def note(self, texts: Iterable[str]) -> None:
        """Nothing was found in these; of very many, the oldest are forgotten."""
        for text in texts:
            if len(text) > _SHORT:
                self._digests[_digest(text)] = None
        while len(self._digests) > MOST_KNOWN:
            del self._digests[next(iter(self._digests))]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def put_back(texts: Sequence[str]) -> Visit:
    """A visit that gives each leaf, in the order of the first walk, what takes its place."""
    answers: Iterator[str] = iter(texts)
    return lambda _surface, _path, _text: next(answers)
