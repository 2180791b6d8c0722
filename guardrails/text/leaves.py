"""The texts of one chunk that are complete: each a channel that opens and closes at once."""

from collections.abc import Iterator, Sequence

from guardrails.content import Visit
from guardrails.processor import Finding
from guardrails.surfaces import Surface
from guardrails.text.channel import Channel
from guardrails.text.feeds import Feeds
from guardrails.text.member import Member, Place


class Leaves:
    """The leaves of a value, in the order in which a walk visits them.

    Args:
        members: for whom they are looked through.
        name: names the value in findings.
        feeds: takes what the leaves say.
    """

    def __init__(self, members: Sequence[Member], name: str, feeds: Feeds) -> None:
        self._members, self._name, self._feeds = members, name, feeds
        self._channels: list[Channel] = []

    def note(self, surface: Surface, path: str, text: str) -> str:
        """Take a leaf in; to be called by the first walk."""
        channel = Channel(Place(surface, f"{self._name}{path}"), self._members)
        self._feeds.feed(channel, text)
        self._feeds.close(channel)
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
        texts, findings = [], []
        for channel in self._channels:
            parts = channel.release(0, channel.settled)
            texts.append("".join(part for part in parts if isinstance(part, str)))
            findings += [part for part in parts if not isinstance(part, str)]
            if channel.settled < channel.end:
                break
        return texts, findings


def put_back(texts: Sequence[str]) -> Visit:
    """A visit that gives each leaf, in the order of the first walk, what takes its place."""
    answers: Iterator[str] = iter(texts)
    return lambda _surface, _path, _text: next(answers)
