"""What a pattern is: a regular expression with a label, and what makes a candidate a match."""

from collections.abc import Callable
from dataclasses import dataclass

from guardrails.processor import Strategy


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing to look for.

    Attributes:
        label: what is found, in upper case as a rule (`CREDIT_CARD`).
        pattern: a regular expression of the `regex` module.
        code: a stable dotted name for programs (`pii.credit_card`).
        flags: any of `a`, `i`, `m`, `s`, as in `(?ims)`.
        verify: given a candidate, the length in characters of the prefix that is a match, 0 for none.
            It must depend on the candidate alone.
        score: how sure a match is, 0–1.
        strategy: what happens to a match; None leaves that to the processor.
        replacement: the placeholder under `redact`; None gives the label in brackets.
        max_length: the most characters the pattern may look at, look-arounds included. Needed by a
            pattern whose hold-back cannot be exact (see `guardrails.text.syntax`).
    """

    label: str
    pattern: str
    code: str
    flags: str = ""
    verify: Callable[[str], int] | None = None
    score: float = 1.0
    strategy: Strategy | None = None
    replacement: str | None = None
    max_length: int | None = None
