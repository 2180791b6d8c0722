"""Each kind of case catches what it is there for: processors that are broken in its way."""

from functools import partial
from typing import Final

import pytest

from tests.cases.broken import BROKEN, SAFE, built
from tests.cases.harness import LEFT_OUT, run_case
from tests.cases.reading import OPEN, OWN, cases_of

CASES: Final = {case.id: case for case in cases_of(OPEN, OWN)}
KINDS: Final = {case.kind for case in CASES.values()}

WITHOUT: Final = {
    "retry-loop": "nothing is asked again yet",
    "goal-loop": "there are no goals yet",
}
"""Kinds of which nothing can run yet, with the reason."""


@pytest.mark.parametrize(
    ("name", "id_"), [(name, id_) for name, broken in BROKEN.items() for id_ in broken.caught_by]
)
def test_caught(name: str, id_: str) -> None:
    """A case of its kind fails with the broken processor, and for that reason."""
    broken, case = BROKEN[name], CASES[id_]
    assert case.kind == broken.kind
    with pytest.raises(AssertionError) as caught:
        run_case(case, "asyncio", broken.build)
    assert broken.caught_by[id_] in str(caught.value)


@pytest.mark.parametrize(("name", "id_"), [(name, id_) for name, (_, ids) in SAFE.items() for id_ in ids])
def test_flaw_alone_is_caught(name: str, id_: str) -> None:
    """What broken processors are made of passes the same cases, as long as it is not broken."""
    run_case(CASES[id_], "asyncio", partial(built, SAFE[name][0]))


def test_every_kind() -> None:
    """Each kind of which something can run has a broken processor, and two cases of our own at least."""
    assert {broken.kind for broken in BROKEN.values()} == KINDS - WITHOUT.keys()
    own = [case.kind for case in cases_of(OWN)]
    assert [kind for kind in KINDS - WITHOUT.keys() if own.count(kind) < 2] == []


def test_kinds_left_out() -> None:
    """Kinds that are left out have no case but those that cannot run yet."""
    assert {CASES[id_].kind for id_ in LEFT_OUT} >= WITHOUT.keys()
    assert [case.id for case in CASES.values() if case.kind in WITHOUT and case.id not in LEFT_OUT] == []
