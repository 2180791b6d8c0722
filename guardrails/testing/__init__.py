"""The contract as tests, for any processor; processors that break it; small fakes.

    @pytest.mark.parametrize("name", CONTRACT)
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_contract(name: str, backend: str) -> None:
        texts = texts_of(["what it finds", "what it must not"])
        check(name, Subject(lambda: [MyProcessor()], texts), backend=backend)

Needs the extra `testing`.
"""

from guardrails.testing.broken import BROKEN, FRAGMENTS, Sound
from guardrails.testing.contract import BACKENDS, CONTRACT, Subject, check
from guardrails.testing.fakes import Idle, Patterns, SlowWords
from guardrails.testing.outcomes import Outcome, outcome
from guardrails.testing.scripts import (
    Dropped,
    Tape,
    chunks_of,
    cuts,
    cuttings,
    passages,
    texts_of,
    transcript,
    uncut,
)

__all__ = [
    "BACKENDS",
    "BROKEN",
    "CONTRACT",
    "FRAGMENTS",
    "Dropped",
    "Idle",
    "Outcome",
    "Patterns",
    "SlowWords",
    "Sound",
    "Subject",
    "Tape",
    "check",
    "chunks_of",
    "cuts",
    "cuttings",
    "outcome",
    "passages",
    "texts_of",
    "transcript",
    "uncut",
]
