"""Readers: what a text processor finds in one channel, by patterns or by asking its detector."""

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from guardrails.processor import Check, MisuseError
from guardrails.text.edits import Found
from guardrails.text.member import Member, Place, Reader
from guardrails.text.scan import Scan, Span
from guardrails.text.segments import Segments
from guardrails.text.view import View

NEVER_AGAIN: Final = sys.maxsize
"""What a reader that looks no further has settled: it will not add anything."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What a detector is asked about.

    Attributes:
        text: the segment, as the processor's view shows it.
        context: the segment before it, empty for the first.
    """

    text: str
    context: str


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector found in one segment.

    Attributes:
        start: first character within the segment's text.
        end: one past the last.
        label: what it is, in upper case.
        code: stable dotted name.
        score: how sure the detector is, 0–1.
    """

    start: int
    end: int
    label: str
    code: str
    score: float = 1.0


Detect: TypeAlias = Callable[[Sequence[Segment]], Awaitable[Sequence[Sequence[Detection]]]]


class PatternReader:
    """Finds patterns through a view.

    Args:
        member: for whom.
        place: in which text.
        view: how the text is read.
        scan: what finds them.
        max_hold: characters at which text that is still undecided blocks.
        rank: its place among the scans of the processor; of equal findings the first counts.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what a reader is made of
        self,
        member: Member,
        place: Place,
        view: View,
        scan: Scan,
        max_hold: int,
        rank: int = 0,
    ) -> None:
        self.member, self._place, self._view, self._scan = member, place, view, scan
        self._max_hold, self._rank = max_hold, rank
        self._stopped = False
        self._taken = 0
        self.settled = 0

    def feed(self, piece: str) -> list[Found]:
        """Take more text; the findings it decides."""
        found: list[Found] = []
        while not self._stopped:
            # No piece may carry undecided text past its limit unseen, or the cutting would matter.
            room = self._max_hold - self._taken + self.settled
            if len(piece) < room:
                self._look(piece, found)
                break
            self._look(piece[:room], found, full=True)
            piece = piece[room:]
        return found

    def close(self) -> list[Found]:
        """The text is complete; the findings its end decides."""
        found: list[Found] = []
        if not self._stopped:
            self._look(None, found)
        return found

    def collect(self) -> list[Found]:
        """Nothing: patterns are never asked slowly."""
        return []

    def _look(self, piece: str | None, found: list[Found], *, full: bool = False) -> None:
        """Show the scan the next piece, or the end; `full` when as much is held as may be."""
        scan, view = self._scan, self._view
        spans: list[Span] = []
        try:
            if piece is None:
                scan.feed("", spans, last=True)
            else:
                self._taken += len(piece)
                scan.feed(view.feed(piece), spans, ask=full)
        except Exception as error:  # noqa: BLE001 - whatever a pattern's own check raises is its failure
            self.member.fault(error, self._place)
            self._stopped = True
        if spans:
            found += [self._found(span) for span in spans]
        self.settled = view.original(scan.settled)
        view.forget(scan.settled)
        if self._taken - self.settled >= self._max_hold:
            end = self.settled + self._max_hold
            found.append(self.member.limit("limit.hold", self._place, self.settled, end))
            self._stopped = True
        if self._stopped:
            self.settled = NEVER_AGAIN

    def _found(self, span: Span) -> Found:
        what, where = span.pattern, self._view.span(span.start, span.end)
        found = self.member.found(what, self._place, where, what.strategy, what.replacement)
        return replace(found, rank=self._rank) if self._rank else found


@dataclass(frozen=True, slots=True)
class _Batch:
    """Segments that one check is about, and where each starts in the view."""

    check: Check[Sequence[Sequence[Detection]]]
    segments: Sequence[Segment]
    starts: Sequence[int]


class PieceReader:
    """Finds patterns in each piece of a text alone, besides those in the text that the pieces make.

    Nobody says whether what a tool streams bit by bit is one text or a list of lines; and a card number that
    follows `done` at once is part of a word.

    Args:
        member: for whom.
        place: in which text.
    """

    def __init__(self, member: Member, place: Place) -> None:
        self.member, self._place = member, place
        self._readers: list[Reader] = []
        self._start, self._end = 0, 0

    @property
    def settled(self) -> int:
        """As far as the readers of the piece are, or all that came if it is complete."""
        return min((self._start + reader.settled for reader in self._readers), default=self._end)

    def feed(self, piece: str) -> list[Found]:
        """Take more of a piece; the findings it decides."""
        if self._start == self._end:
            opened = self.member.open(self.member, self._place)
            self._readers = [reader for reader in opened if isinstance(reader, PatternReader)]
        self._end += len(piece)
        return [self._moved(found) for reader in self._readers for found in reader.feed(piece)]

    def close(self) -> list[Found]:
        """The piece is complete; the findings its end decides."""
        readers, self._readers = self._readers, []
        found = [self._moved(found) for reader in readers for found in reader.close()]
        self._start = self._end
        return found

    def collect(self) -> list[Found]:
        """Nothing: patterns are never asked slowly."""
        return []

    def _moved(self, found: Found) -> Found:
        finding = found.finding
        moved = replace(finding, start=finding.start + self._start, end=finding.end + self._start)
        return replace(found, finding=moved)


class DetectReader:
    """Asks a detector about segments, several at a time, and takes the answers in order."""

    def __init__(self, member: Member, place: Place, view: View, detect: Detect, longest: int) -> None:
        self.member, self._place, self._view, self._detect = member, place, view, detect
        self._segments = Segments(longest)
        self._batches: deque[_Batch] = deque()
        self._asked, self._previous = 0, ""

    @property
    def settled(self) -> int:
        """Everything before the first segment without an answer."""
        return self._view.original(self._batches[0].starts[0] if self._batches else self._asked)

    def feed(self, piece: str) -> list[Found]:
        """Take more text; the segments it closes are asked about at once, as one batch."""
        self._ask(self._segments.feed(self._view.feed(piece)))
        return []

    def close(self) -> list[Found]:
        """The text is complete; ask about what is left of it."""
        self._ask(self._segments.close())
        return []

    def collect(self) -> list[Found]:
        """The findings of the batches that are done, up to the first that is not; a failure blocks now."""
        found: list[Found] = []
        failed = [batch.check.error for batch in self._batches if batch.check.error is not None]
        if failed and not self.member.passes:
            self.member.fault(failed[0], self._place)
        while self._batches and self._batches[0].check.done:
            batch = self._batches.popleft()
            try:
                found += self._answers(batch)
            except Exception as error:  # noqa: BLE001 - whatever a detector raises is its failure
                self.member.fault(error, self._place)
        self._view.forget(self._batches[0].starts[0] if self._batches else self._asked)
        return found

    def _ask(self, texts: Sequence[str]) -> None:
        if not texts:
            return
        starts = []
        for text in texts:
            starts.append(self._asked)
            self._asked += len(text)
        segments = [Segment(*pair) for pair in zip(texts, [self._previous, *texts[:-1]], strict=True)]
        self._previous = texts[-1]
        self._batches.append(_Batch(self.member.run.start(self._detect, segments), segments, starts))

    def _answers(self, batch: _Batch) -> list[Found]:
        answers: object = batch.check.value
        if not isinstance(answers, Sequence) or len(answers) != len(batch.segments):
            raise MisuseError("`detect` must give a list with one answer for each segment")
        return [
            self.member.found(
                detection, self._place, self._view.span(start + detection.start, start + detection.end)
            )
            for segment, start, answer in zip(batch.segments, batch.starts, answers, strict=True)
            for detection in answer
            if _within(detection, segment)
        ]


def _within(detection: Detection, segment: Segment) -> bool:
    """Whether a detection is one: a detector may give anything.

    Raises:
        MisuseError: it is none, or not within its segment.
    """
    shape = (detection.start, int), (detection.end, int), (detection.label, str), (detection.code, str)
    if not all(type(value) is kind for value, kind in shape) or not _is_score(detection.score):
        raise MisuseError("`detect` gave a detection whose fields are not of the types they should be")
    if not 0 <= detection.start < detection.end <= len(segment.text):
        raise MisuseError("`detect` gave a detection that is empty or not within its segment")
    return True


def _is_score(score: object) -> bool:
    return isinstance(score, int | float) and 0 <= score <= 1
