"""Finds regular expressions: own rules, presets, or both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from guardrails.choices import ChoiceError, listed_words, shortened
from guardrails.processor import AsWritten, Strategy
from guardrails.text.pattern import Pattern
from guardrails.text.processor import USER_SECONDS, TextProcessor
from processors._names import Name
from processors._patterns import PRESETS

Flag = Literal["ignorecase", "multiline", "dotall"]


def _known(preset: str) -> str:
    if preset not in PRESETS:
        raise ChoiceError(f"there is no preset {shortened(repr(preset))}", preset, sorted(PRESETS))
    return preset


class Rule(BaseModel):
    """One regular expression of one's own.

    Raises:
        ValueError: the pattern does not compile, or cannot be held back exactly and has no `max_length`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Name
    pattern: Annotated[str, AsWritten()] = Field(
        min_length=1, description="A regular expression of the `regex` module."
    )
    flags: tuple[Flag, ...] = Field(default=(), description="How it is read.")
    replacement: str | None = Field(
        default=None, description="What stands in its place under `redact`; the label in brackets if absent."
    )
    strategy: Strategy | None = Field(default=None, description="Overrides the processor's strategy.")
    max_length: int | None = Field(
        default=None,
        ge=1,
        description="The most characters the pattern looks at; for patterns that cannot be held exactly.",
    )

    @model_validator(mode="after")
    def _can_be_held(self) -> Self:
        try:
            self.as_pattern()
        except ValueError as error:
            raise ValueError(f"pattern: {error}") from None
        return self

    @property
    def _flags(self) -> str:
        return "".join(flag[0] if flag != "dotall" else "s" for flag in self.flags)

    def as_pattern(self) -> Pattern:
        """The rule as a text processor wants it."""
        return Pattern(
            label=self.name.upper(),
            pattern=self.pattern,
            code=f"regex.{self.name}",
            flags=self._flags,
            strategy=self.strategy,
            replacement=self.replacement,
            max_length=self.max_length,
        )


class Regex(TextProcessor):
    """Finds what its presets and rules say; a preset wins over a rule, an earlier rule over a later one."""

    without_anything: ClassVar[str] = "give `presets` or `rules`; without either there is nothing to find"

    presets: tuple[
        Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": [*sorted(PRESETS)]})], ...
    ] = Field(default=(), min_length=1, description="Ready-made sets of patterns.")
    rules: tuple[Rule, ...] = Field(default=(), min_length=1, description="Regular expressions of one's own.")

    @model_validator(mode="after")
    def _rules_fit(self) -> Self:
        names = Counter(rule.name for rule in self.rules)
        doubled = [name for name, count in names.items() if count > 1]
        if doubled:
            raise ValueError(f"rules: each rule needs a name of its own; used twice: {listed_words(doubled)}")
        for place, rule in enumerate(self.rules):
            strategy = rule.strategy or self.strategy
            if rule.replacement is not None and strategy != "redact":
                raise ValueError(f"rules[{place}].replacement: it is never used under {strategy}")
        return self

    @classmethod
    def codes(cls) -> Mapping[str, str]:
        """Those of the presets, and those of rules, which bear the names of the rules."""
        found = {
            pattern.code: f"{pattern.label}, of the preset {preset}"
            for preset, patterns in PRESETS.items()
            for pattern in patterns
        }
        return {**found, "regex.<name>": "the rule of that name", **super().codes()}

    @property
    def search_seconds(self) -> float | None:
        """One's own patterns get a time limit; the cost of the presets has been measured."""
        return USER_SECONDS if self.rules else None

    def patterns(self) -> Sequence[Pattern]:
        """Those of the presets, then the rules."""
        return [
            *(pattern for preset in self.presets for pattern in PRESETS[preset]),
            *(rule.as_pattern() for rule in self.rules),
        ]
