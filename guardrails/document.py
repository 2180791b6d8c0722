"""What may stand in a configuration, apart from the settings of processors, which their types define."""

from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from guardrails.cases import Case
from guardrails.pipeline import LEAST_BUFFER, MAX_BUFFER, MAX_CHECKS
from guardrails.processor import AsWritten
from guardrails.release import Release
from guardrails.text.processor import TextProcessor

VERSION: Final = 1
"""The version of the file format."""

INPUT: Final = "input_processors"
OUTPUT: Final = "output_processors"


_TEXTS: Final = TextProcessor.model_fields


def is_meant(version: object) -> bool:
    """Whether this version is meant, in whatever form it is written."""
    return str(version) in (str(VERSION), f"{VERSION}.0") and not isinstance(version, bool)


def _the_version(version: Any) -> Any:
    if is_meant(version) and type(version) is not int:
        raise ValueError(f"must be the number {VERSION}, written without quotes or a point")
    if type(version) is not int or version != VERSION:
        raise ValueError(f"must be {VERSION}, the only version of the format")
    return version


class Limits(BaseModel):
    """Bounds; where one is reached, the stream is blocked, or reading waits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_hold: int = Field(
        default=_TEXTS["max_hold"].default,
        ge=64,
        description="Characters at which text that is still undecided blocks; for each text processor that "
        "does not say otherwise.",
    )
    max_waiting: int = Field(
        default=_TEXTS["max_waiting"].default,
        ge=64,
        description="Characters that may wait behind undecided text; for each text processor that does not "
        "say otherwise.",
    )
    max_buffer: int = Field(
        default=MAX_BUFFER,
        ge=LEAST_BUFFER,
        description="Characters that `release: step` may hold of one step.",
    )
    max_checks: int = Field(
        default=MAX_CHECKS,
        ge=1,
        description="Slow checks of one processor that may be under way in one stream before reading waits.",
    )

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.max_waiting < self.max_hold:
            raise ValueError("max_waiting: it cannot be less than max_hold, which it contains")
        return self


class Versioned(BaseModel):
    """What every version of the format has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[int, BeforeValidator(_the_version)] = Field(
        description="The version of the format.", json_schema_extra={"const": VERSION}
    )


class Document(Versioned):
    """A configuration."""

    input_processors: Any = Field(
        default=None, description="What looks at the messages that go to the model, in order."
    )
    output_processors: Any = Field(
        default=None, description="What stands between the model's stream and its consumer, in order."
    )
    release: Release = Field(
        default="stream",
        description="When what is decided leaves: at once, or a step as a whole when all of it is accepted.",
    )
    limits: Limits = Field(default=Limits(), description="Bounds.")
    tests: Annotated[tuple[Case, ...], AsWritten()] = Field(
        default=(), description="Cases, which `guardrails test` runs."
    )
