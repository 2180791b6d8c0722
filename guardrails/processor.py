"""What a processor is (draft)."""
from typing import Literal
Strategy = Literal["block", "remove", "redact", "hash", "mask", "warn"]
