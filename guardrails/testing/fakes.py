"""Small processors for tests: patterns, a detector that takes its time, and a step that does nothing."""

from collections.abc import Sequence
from typing import ClassVar

import regex
from anyio.lowlevel import checkpoint

from guardrails.processor import Processor, Run, Step
from guardrails.text.pattern import Pattern
from guardrails.text.processor import TextProcessor
from guardrails.text.reader import Detection, Segment


class Idle(Processor):
    """Passes everything on."""

    def open(self, run: Run) -> Step:
        """Nothing to keep."""
        del run
        return lambda item: (item,)


class Patterns(TextProcessor):
    """Finds one pattern, given as a setting."""

    find: str

    def patterns(self) -> Sequence[Pattern]:
        """The one."""
        return [Pattern("FOUND", self.find, "test.found")]


class SlowWords(TextProcessor):
    """Asks about segments; how long each answer takes differs, so they come in any order."""

    longest_segment: ClassVar[int] = 40

    find: str
    patience: int = 7

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """Find the word."""
        for _ in range(sum(map(ord, segments[0].text)) % self.patience):
            await checkpoint()
        return [
            [
                Detection(match.start(), match.end(), "WORD", "test.word")
                for match in regex.finditer(self.find, segment.text)
            ]
            for segment in segments
        ]
