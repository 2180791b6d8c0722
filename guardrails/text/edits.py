"""What is done about findings: overlapping ones become one edit under the strongest strategy."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, get_args

from guardrails.processor import Finding, Strategy

_STRENGTH: Final = {strategy: -rank for rank, strategy in enumerate(get_args(Strategy))}
_MASK_KEEPS: Final = 4
_HASH_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True)
class Found:
    """A finding with what its edit needs.

    Attributes:
        finding: what is reported; its offsets are those of the original text.
        order: place of its processor in the group.
        rank: place among the things that the processor looks for apart from one another.
        replacement: the placeholder under `redact`; None gives the label in brackets.
        key: the key of the processor under `hash`.
        limit: whether it stands for a bound that was reached, and not for something in the text.
    """

    finding: Finding
    order: int = 0
    replacement: str | None = None
    key: bytes | None = field(default=None, repr=False)
    limit: bool = False
    rank: int = 0

    @property
    def start(self) -> int:
        """First character."""
        return self.finding.start

    @property
    def end(self) -> int:
        """One past the last character."""
        return self.finding.end


@dataclass(frozen=True, slots=True)
class Edit:
    """A decided change: the characters from `start` to `end` become `text`; None leaves them."""

    start: int
    end: int
    text: str | None
    findings: tuple[Finding, ...]


def in_order(found: Iterable[Found]) -> list[Found]:
    """By place; those at one place the surest, then the longest, then the earliest processor first."""
    return sorted(found, key=lambda f: (f.start, -f.finding.score, -f.end, f.order, f.rank))


def clusters(found: Iterable[Found]) -> Iterator[list[Found]]:
    """Groups of findings that overlap one another, from findings in order."""
    cluster: list[Found] = []
    end = 0
    for one in found:
        if cluster and one.start >= end:
            yield cluster
            cluster = []
        cluster.append(one)
        end = max(end, one.end)
    if cluster:
        yield cluster


def edit(cluster: Sequence[Found], text: str) -> Edit:
    """The one edit of overlapping findings.

    Args:
        cluster: the findings.
        text: the original characters that they cover together.
    """
    strategy = max((one.finding.strategy for one in cluster), key=_STRENGTH.__getitem__)
    namer = max(cluster, key=lambda f: (f.finding.score, f.end - f.start, -f.order, -f.start, -f.rank))
    keys = [one.key for one in cluster if one.key is not None]
    return Edit(
        cluster[0].start,
        max(one.end for one in cluster),
        _hidden(strategy, namer, keys, text),
        tuple(one.finding for one in cluster),
    )


def _hidden(strategy: Strategy, namer: Found, keys: Sequence[bytes], text: str) -> str:
    """What stands in the place of found text."""
    label = namer.finding.label
    match strategy:
        case "remove":
            return ""
        case "hash":
            data = text.encode("utf-8", "surrogatepass")
            return f"[{label}:{hmac.new(keys[0], data, hashlib.sha256).hexdigest()[:_HASH_CHARACTERS]}]"
        case "mask":
            kept = min(_MASK_KEEPS, len(text) // 4)
            return "*" * (len(text) - kept) + text[len(text) - kept :]
        case _:
            return f"[{label}]" if namer.replacement is None else namer.replacement
