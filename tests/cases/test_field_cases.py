"""Failures that were seen in the field: each must not happen here, however the text is cut."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from guardrails.testing import BACKENDS
from tests.cases.harness import LEFT_OUT, run_case
from tests.cases.reading import OPEN, OWN, Case, UnknownKeyError, cases_of

CASES: Final = cases_of(OPEN, OWN)

REDACTING: Final = [
    case
    for case in CASES
    if "must_not_emit" in case.expect
    and all(entry.get("use") == "pii" for entry in case.config.get("processors", [{}]))
    and not any(entry.keys() & {"detector", "cadence"} for entry in case.config["processors"])
    and case.expect.get("tripwire", case) is None
    and not case.harness
]
"""Cases in which the preset for private data redacts something."""

SHOWING: Final = frozenset({"mask"})
"""Strategies that leave something of what is found."""

ENDINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "block": {"tripwire_count": 1, "finish_reason": "tripwire"},
}

PACE: Final = frozenset({"first_text_by_input_index", "text_deltas_min", "max_held_chars"})
"""Keys about when text comes."""

PASSING: Final = [
    case
    for case in CASES
    if case.expect.get("tripwire", case) is None
    and "processors" in case.config
    and not {"break_after_chunks", "cancel_after_chunks"} & case.harness.keys()
]
"""Cases in which nothing is refused."""


RUNNING: Final = [case for case in CASES if case.id not in LEFT_OUT]
"""The cases that can run."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", RUNNING, ids=lambda case: f"{case.id}-{case.kind}")
def test_field_case(case: Case, backend: str) -> None:
    """What the case expects comes out, as it is given and in every other cutting."""
    run_case(case, backend)


@pytest.mark.parametrize("strategy", ["block", "hash", "mask"])
@pytest.mark.parametrize("case", REDACTING, ids=lambda case: case.id)
def test_other_strategies(case: Case, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under any other strategy, too, the outcome does not depend on the cutting, and what must go is gone."""
    monkeypatch.setenv("CASES_KEY", "an invented key of enough bytes")
    run_case(under(case, strategy), "asyncio")


def under(case: Case, strategy: str) -> Case:
    """The case with another strategy, and what is expected of any."""
    changed = {"strategy": strategy, **({"key_env": "CASES_KEY"} if strategy == "hash" else {})}
    processors = [{**entry, **changed} for entry in case.config["processors"]]
    expect = {"balanced_blocks": True, "each_chunk_utf8": True, **ENDINGS.get(strategy, {"tripwire": None})}
    if strategy not in SHOWING:
        expect["must_not_emit"] = case.expect["must_not_emit"]
    return replace(case, config={"processors": processors}, expect=expect)


@pytest.mark.parametrize("case", PASSING, ids=lambda case: case.id)
def test_held_steps(case: Case) -> None:
    """When steps of the answer are held until they are accepted, what is accepted reads the same."""
    expect = {key: wanted for key, wanted in case.expect.items() if key not in PACE}
    run_case(replace(case, config={**case.config, "release": "step"}, expect=expect), "asyncio")


def test_left_out() -> None:
    """Exactly the cases of what is not there yet are left out."""
    assert sorted(LEFT_OUT) == ["C32", "C41", "C42"]
    assert LEFT_OUT.keys() <= {case.id for case in CASES}


@pytest.mark.parametrize("case", [case for case in CASES if case.id in LEFT_OUT], ids=lambda case: case.id)
def test_left_out_cannot_run(case: Case) -> None:
    """A case that is left out says something that the harness does not know, so it could not pass unseen."""
    with pytest.raises(UnknownKeyError):
        run_case(case, "asyncio")


def test_ids() -> None:
    """No two cases have the same id."""
    assert len({case.id for case in CASES}) == len(CASES)
