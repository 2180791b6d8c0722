"""The texts of one chunk that are complete: each a channel that opens and closes at once."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from guardrails.content import Visit
from guardrails.processor import Finding
from guardrails.surfaces import Surface
from guardrails.text.channel import Channel
from guardrails.text.feeds import Feeds
from guardrails.text.member import Member, Place

MOST_KNOWN: Final = 4096
"""Texts that are remembered as clean in one stream, sixteen bytes of each."""

_SHORT: Final = 16
"""Characters up to which a text is looked at sooner than its digest is made."""


class Leaves:
    """The leaves of a value, in the order in which a walk visits them.

    Args:
        members: for whom they are looked through.
        name: names the value in findings.
        feeds: takes what the leaves say.
        known: texts that need no second look; None to look at each.
    """

    def __init__(
        self, members: Sequence[Member], name: str, feeds: Feeds, known: "Known | None" = None
    ) -> None:
        self._members, self._name, self._feeds, self._known = members, name, feeds, known
        self._channels: list[Channel] = []
        self._places: dict[str, int] = {}
        # Each leaf as it came, with the place of its channel; None if it is known to be clean.
        self._leaves: list[tuple[str, int | None]] = []

    def note(self, surface: Surface, path: str, text: str) -> str:
        """Take a leaf in; to be called by the first walk."""
        if self._known is not None and (text in self._places or self._known.has(text)):
            self._leaves.append((text, self._places.get(text)))
            return text
        channel = Channel(Place(surface, f"{self._name}{path}"), self._members)
        self._feeds.feed(channel, text)
        self._feeds.close(channel)
        self._places[text] = len(self._channels)
        self._leaves.append((text, len(self._channels)))
        self._channels.append(channel)
        return text

    @property
    def channels(self) -> Sequence[Channel]:
        """The channels, for checks whose answers have come."""
        return self._channels

    def undecided(self) -> Channel | None:
        """The first leaf that is not decided, or refused."""
        return next((channel for channel in self._channels if channel.settled < channel.end), None)

    def release(self) -> tuple[list[str], list[Finding]]:
        """What takes the place of each leaf, and what was found, up to the first that is not decided."""
        said: list[str] = []
        findings: list[Finding] = []
        for channel in self._channels:
            parts = channel.release(0, channel.settled)
            said.append("".join(part for part in parts if isinstance(part, str)))
            findings += [part for part in parts if not isinstance(part, str)]
            if channel.settled < channel.end:
                return said, findings
        texts = [text if place is None else said[place] for text, place in self._leaves]
        if self._known is not None:
            self._known.note(new for new, (old, _) in zip(texts, self._leaves, strict=True) if new == old)
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
