"""What is looked for, by preset: tables of patterns that processors share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from guardrails.text.pattern import Pattern
from processors._patterns.private_data import PRIVATE_DATA
from processors._patterns.secrets import SECRETS
from processors._patterns.urls import URLS

PRESETS: Final[Mapping[str, tuple[Pattern, ...]]] = MappingProxyType(
    {"private-data": PRIVATE_DATA, "secrets": SECRETS, "urls": URLS}
)
