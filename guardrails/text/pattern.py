"""What a pattern is: a regular expression with a label, and what makes a candidate a match."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import regex

from guardrails.choices import shortened
from guardrails.processor import Strategy
from guardrails.text.syntax import NotExactError, check_window, exact_form


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing to look for.

    Attributes:
        label: what is found, in upper case as a rule (`CREDIT_CARD`).
        pattern: a regular expression of the `regex` module.
        code: a stable dotted name for programs (`pii.credit_card`).
        flags: any of `i`, `m`, `s`, as in `(?ims)`; a scoped `a` is not what it seems in nested groups.
        verify: given a candidate, the length in characters of the prefix that is a match, 0 for none.
            It must depend on the candidate alone.
        score: how sure a match is, 0–1.
        strategy: what happens to a match; None leaves that to the processor.
        replacement: the placeholder under `redact`; None gives the label in brackets.
        max_length: the most characters the pattern may look at, look-arounds included. Needed by a
            pattern whose hold-back cannot be exact (see `guardrails.text.syntax`).

    Raises:
        ValueError: the pattern does not compile, or cannot be held; so every pattern that exists can be.
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

    def __post_init__(self) -> None:
        """Check that it can be held."""
        label = shortened(self.label)
        if set(self.flags) - set("ims"):
            raise ValueError(f"the flags of {label} are {self.flags!r}; choose from i, m and s")
        if self.strategy is not None and self.strategy not in get_args(Strategy):
            choices = ", ".join(get_args(Strategy))
            raise ValueError(f"the strategy of {label} is {self.strategy!r}; choose from {choices}")
        try:
            regex.compile(f"(?{self.flags}:{self.pattern})")
            if self.max_length is None:
                exact_form(self.pattern, self.flags)
            else:
                check_window(self.pattern, self.max_length)
        except regex.error as error:
            raise ValueError(f"the pattern for {label} does not compile: {error}") from None
        except RecursionError:
            raise ValueError(f"the pattern for {label} is nested too deeply") from None
        except NotExactError as error:
            advice = (
                "" if self.max_length else "; state max_length, the most it looks at, or write it otherwise"
            )
            raise ValueError(f"the pattern for {label} cannot be held exactly: {error}{advice}") from None
