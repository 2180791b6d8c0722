"""How one names what is found."""

from typing import Annotated, TypeAlias

from pydantic import Field

Name: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="Names what is found; in upper case it is the label. Letters, digits, `_`, `.`, `-`.",
    ),
]
