"""Texts that are to be looked through: small ones at once, large ones in slices, which let others run."""

from collections.abc import Callable, Iterator
from typing import Final

from guardrails.text.channel import Channel

SLICE: Final = 4096
"""Characters that are looked through before others may run; some milliseconds with many patterns."""


class Feeds:
    """What the channels of a step have been given and have not taken yet, in order."""

    def __init__(self) -> None:
        self._waiting: list[Iterator[None]] = []
        self._size = 0

    @property
    def any(self) -> bool:
        """Whether something waits to be looked through."""
        return bool(self._waiting)

    @property
    def large(self) -> bool:
        """Whether this is too much to be taken at once."""
        return self._size > 2 * SLICE

    def feed(self, channel: Channel, text: str) -> None:
        """Give a text to a channel."""
        self.take(sliced(channel, text), len(text))

    def then(self, do: Callable[[], None]) -> None:
        """Do something once all that has been given is taken, such as closing a channel."""
        self.take(_once(do), 0)

    def take(self, look: Iterator[None], size: int) -> None:
        """Look through something, as many characters as `size` says; the look stops after each slice."""
        self._waiting.append(look)
        self._size += size

    def flush(self) -> Iterator[None]:
        """Look through all that has been given; stops after each slice."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        for look in waiting:
            yield from look


def sliced(channel: Channel, text: str) -> Iterator[None]:
    """Give a text to a channel, slice by slice."""
    for start in range(0, len(text), SLICE):
        channel.feed(text[start : start + SLICE])
        yield


def _once(do: Callable[[], None]) -> Iterator[None]:
    do()
    yield from ()
