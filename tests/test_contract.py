"""The contract on processors made for it, alone, in chains and in groups; and on those that break it."""

import os
import time
from collections.abc import Callable, Sequence
from itertools import cycle, product
from typing import Any, Final

import pytest

from guardrails import Parallel, Processor, TextProcessor
from guardrails.surfaces import SURFACES, Surface
from guardrails.testing import (
    BACKENDS,
    BROKEN,
    CONTRACT,
    FRAGMENTS,
    Idle,
    Patterns,
    SlowWords,
    Sound,
    Subject,
    check,
    texts_of,
)

TEXTS: Final = texts_of(
    [
        "card 1234 5678",
        "1234 567",
        "a@b.co",
        "a@b.",
        "bad word. ",
        "badly. Bad",
        "secret-",
        "[x]",
        "\ud83d",
        "x\u200b@b.co",
    ]
)
MAIL: Final = r"\b[a-z]{1,9}@[a-z]{1,9}\.[a-z]{2,3}\b"
CARD: Final = r"\d{4} \d{4}"


def mail(**settings: object) -> Processor:
    return Patterns(id="mail", find=MAIL, **settings)


def card(**settings: object) -> Processor:
    return Patterns(id="card", find=CARD, **settings)


def slow(**settings: object) -> Processor:
    return SlowWords(id="slow", find="bad|card 1", **settings)


def group(*members: Processor) -> Processor:
    return Parallel(members=members)


MAKERS: Final[dict[str, Callable[[], Sequence[Processor]]]] = {
    "idle": lambda: [Idle()],
    "patterns redact": lambda: [mail()],
    "patterns block": lambda: [card(strategy="block")],
    "slow redact": lambda: [slow()],
    "slow block": lambda: [slow(strategy="block")],
    "chain of two": lambda: [mail(), slow(strategy="mask")],
    "chain of two that refuse": lambda: [slow(strategy="block"), card(strategy="block")],
    "chain of three": lambda: [card(strategy="remove"), slow(), mail(strategy="block")],
    "group of patterns": lambda: [group(mail(), card(strategy="block"))],
    "group with a slow one": lambda: [group(mail(strategy="warn"), slow(), card(strategy="remove"))],
    "group that refuses": lambda: [group(slow(strategy="block"), card(), mail(strategy="mask"))],
    "group in a chain": lambda: [group(card(), slow(strategy="warn")), Idle(), mail(strategy="block")],
}


def subject(maker: str, **settings: Any) -> Subject:
    """What is made by a maker, which finds something of each kind unless it is idle."""
    finds = ("1234 5678 a@b.co bad",) if maker != "idle" else ()
    return Subject(MAKERS[maker], TEXTS, finds, **settings)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", CONTRACT)
def test_contract(name: str, maker: str, backend: str) -> None:
    """Every property holds for every way of putting processors together."""
    check(name, subject(maker), backend=backend, examples=60)


@pytest.mark.parametrize("maker", ["patterns block", "slow redact", "group that refuses"])
@pytest.mark.parametrize("name", CONTRACT)
def test_contract_by_the_step(name: str, maker: str) -> None:
    """The properties hold as well where a step is held until it has ended."""
    check(name, subject(maker, release="step"), examples=40)


@pytest.mark.fuzz
def test_contract_at_length() -> None:
    """Every property goes on holding, on scripts drawn anew, for as long as FUZZ_SECONDS says."""
    ends = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60"))
    for rounds, (backend, maker, name) in enumerate(cycle(product(BACKENDS, MAKERS, CONTRACT)), 1):
        check(name, subject(maker), backend=backend, examples=300)
        if time.monotonic() > ends:
            print(f"{rounds} rounds of 300 scripts")  # noqa: T201 - the evidence
            return


@pytest.mark.parametrize("name", CONTRACT)
def test_a_sound_processor_passes(name: str) -> None:
    """The plain processor from which the broken ones depart keeps every property."""
    check(name, Subject(lambda: [Sound()], texts_of(FRAGMENTS), FRAGMENTS[:1], surfaces=("text",)))


@pytest.mark.parametrize(("broken", "name"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN])
def test_the_contract_catches(broken: type[Processor], name: str) -> None:
    """A processor that breaks the contract fails the property that is about its fault."""
    surfaces: Sequence[Surface] = SURFACES if issubclass(broken, TextProcessor) else ("text",)
    with pytest.raises(AssertionError):
        check(
            name,
            Subject(lambda: [broken()], texts_of(FRAGMENTS), FRAGMENTS[:1], surfaces=surfaces),
            examples=6000,
            shrink=False,
            derandomize=True,
        )
