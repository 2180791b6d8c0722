"""The contract for every registered processor, with sensible settings, alone, in groups and in chains."""

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Final

import pytest

from guardrails import Parallel, Processor
from guardrails.testing import BACKENDS, CONTRACT, SlowWords, Subject, check, texts_of
from processors._patterns import PRESETS
from processors.keywords import Keywords
from processors.regex import Regex

GROUP: Final = "guardrails.processors"
PRIVATE: Final = (
    "to ilse.roth@example.org",
    "ilse@example.o",
    "card 4539 5787 6362 1486",
    "4539578763621486",
    "4539 5787 6362",
    "NL91 ABNA 0417 1643 00",
    "NL91 ABNA 04",
    "536-90-4399",
    "536-90-439",
    "+44 20 7946 0958",
    "(212) 555-0143",
    "10.20.30.40",
    "1.2.3.",
    "2001:db8:0:1::7",
    "fe80::1",
    "ｉlse@ex\u200bample.org ",
    "4539\u00a05787\u20116362 1486",
    " and ",
    "\ud83d",
)
OWN: Final = (
    "key-abcd1234",
    "key-abcd",
    "KEY-1",
    "<note>",
    "<note",
    "note",
    "aaa-aaa!",
    "aab",
    "'x'",
    "'xy",
    "bad word. ",
    "Bad. ",
    "ﬃx",
    "\n",
)
FOUND: Final = (
    "NL91 ABNA 0417 1643 00",
    "536-90-4399",
    "+44 20 7946 0958",
    "10.20.30.40",
    "2001:db8:0:1::7",
    "ｉlse@ex\u200bample.org",
    "4539\u00a05787\u20116362 1486",
)
"""Of the above, what the preset must find."""
# Prefixes are in two parts, so that nobody takes these for secrets that leaked.
SECRET: Final = (
    "sk" + "-Qk3vT9xLr2Wm8ZpYc5Hn7Bd4Jf6Gs0Ta",
    "gl" + "pat-Qk3vT9xLr2Wm8ZpYc5Hn",
    "-----BEGIN PRIVATE" + " KEY-----\nMHcCAQEEIm2d6fnCbTx9QkZv\nqSMM0A==\n-----END PRIVATE" + " KEY-----",
    "redis" + "://u:h7Kq2x@db.example.org",
    "https://example.org/wiki/Go_(game)",
    "www.例え.jp/a?b=c",
    "javascript:alert(1)",
    "data:text/plain;base64,aGVsbG8=",
)
"""In each of which one of the presets `secrets` and `urls` finds something."""
NO_SECRET: Final = (
    "sk" + "-xxxxxxxx",
    "gl" + "pat-",
    "-----BEGIN ",
    "eyJhbGciOi.",
    "https://",
    "www.",
    ").",
    " and ",
    "\ud83d",
)
# Names say nothing of what is found: found text that stands in its own label would look like a leak.
MIXED: Final[Sequence[Mapping[str, Any]]] = (
    {"name": "m1", "pattern": r"key-[a-z0-9]{4,12}", "flags": ["ignorecase"], "strategy": "remove"},
    {"name": "m2", "pattern": r"<[a-z]{1,10}>", "replacement": "<…>"},
    {"name": "m3", "pattern": r"\bnote\b", "strategy": "mask"},
    {"name": "m4", "pattern": r"^b\w{1,5}$", "flags": ["multiline", "ignorecase"], "strategy": "warn"},
    {"name": "m5", "pattern": "f{2}i?x", "strategy": "mask"},
)
STATED: Final[Sequence[Mapping[str, Any]]] = (
    {"name": "s1", "pattern": r"(?>a+)-?\b", "max_length": 6},
    {"name": "s2", "pattern": r"(['\"])[a-z]{1,3}\1", "max_length": 5, "strategy": "mask"},
    {"name": "s3", "pattern": r"note(?<=<note)>?+", "max_length": 6, "strategy": "remove"},
)
TERMS: Final = (
    "Quellwasser",
    "new york",
    "new york city",
    "straße",
    "机密计划",
    "비밀",
    "C++",
    "café noir",
    "💣",
)
TOLD: Final = (
    "QUELL\u200bWASSER",
    "ｑuellwasser",
    "New \n York",
    "new york  city",
    "die STRASSE",
    "机密计划",
    "비밀은",
    "\u1107\u1175\u1106\u1175\u11af",
    "c++ ",
    "Cafe\u0301 \t NOIR",
    "💣",
)
"""Texts in each of which one of these terms is found."""
UNTOLD: Final = ("new york cit", "HAUPTSTRASSE", "机密计", "café noire", "\ud83d", " and ")
REFUSING: Final[Sequence[Mapping[str, Any]]] = (*MIXED, {**STATED[0], "strategy": "block"}, STATED[1])


def regex(id_: str = "regex", **settings: Any) -> Regex:
    return Regex(id=id_, **settings)


def keywords(**settings: Any) -> Keywords:
    return Keywords(terms=TERMS, **settings)


def group(*members: Keywords | Regex | SlowWords) -> Parallel:
    return Parallel(members=members)


def slow(**settings: Any) -> SlowWords:
    return SlowWords(id="slow", find=r"bad|card \d|note", **settings)


private: Final = texts_of(PRIVATE)
own: Final = texts_of(OWN)
both: Final = texts_of([*OWN, *PRIVATE])
terms: Final = texts_of([*TOLD, *UNTOLD])
secrets: Final = texts_of([*SECRET, *NO_SECRET])

# Settings are shared by streams, and a hundred patterns take a while to be read: so once.
SECRETS_AND_URLS: Final = regex(presets=["secrets", "urls"])
ALL_PRESETS: Final = regex(presets=sorted(PRESETS), strategy="block")

SUBJECTS: Final[dict[str, dict[str, Subject]]] = {
    "keywords": {
        "words": Subject(lambda: [keywords()], terms, TOLD, most_held=len("new york city")),
        "substrings in a group": Subject(
            lambda: [group(keywords(match="substring", strategy="block"), regex(rules=MIXED), slow())],
            terms,
            TOLD,
        ),
    },
    "regex": {
        "preset redact": Subject(lambda: [regex(presets=["private-data"])], private, FOUND),
        "preset block": Subject(lambda: [regex(presets=["private-data"], strategy="block")], private, FOUND),
        "secrets and urls": Subject(lambda: [SECRETS_AND_URLS], secrets, SECRET),
        "all presets block": Subject(lambda: [ALL_PRESETS], secrets, SECRET),
        "rules": Subject(lambda: [regex(rules=[*MIXED, *STATED])], own, ("key-abcd1234", "<note>", "'xyz'")),
        "in a group": Subject(
            lambda: [group(regex(presets=["private-data"], strategy="mask"), slow(strategy="remove"))],
            private,
            FOUND,
        ),
        "in a chain of two": Subject(lambda: [regex(rules=REFUSING), slow()], own),
        "in a chain of three": Subject(
            lambda: [
                slow(strategy="block"),
                regex("own", rules=MIXED),
                regex(rules=STATED, strategy="remove"),
            ],
            own,
        ),
    },
}


def registered() -> list[str]:
    return sorted(point.name for point in entry_points(group=GROUP))


CASES: Final = [(type_, name) for type_ in sorted(SUBJECTS) for name in SUBJECTS[type_]]


def test_there_are_registered_processors() -> None:
    """The entry points are read: without any, nothing below would be tested."""
    assert "regex" in registered()


@pytest.mark.parametrize("type_", registered())
def test_every_registered_processor_has_subjects(type_: str) -> None:
    """A processor that is registered is tested here."""
    assert SUBJECTS.get(type_), f"add subjects for the processor {type_!r} to SUBJECTS"


@pytest.mark.parametrize("type_", registered())
def test_every_subject_has_its_processor(type_: str) -> None:
    """Each subject of a type has a processor of that type in it."""
    loaded = next(point.load() for point in entry_points(group=GROUP) if point.name == type_)

    def parts(processors: Sequence[Processor]) -> list[Processor]:
        return [part for processor in processors for part in processor.parts]

    makers: list[Callable[[], Sequence[Processor]]] = [subject.make for subject in SUBJECTS[type_].values()]
    assert all(any(isinstance(part, loaded) for part in parts(make())) for make in makers)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("type_", "subject"), CASES, ids=[f"{type_} {name}" for type_, name in CASES])
@pytest.mark.parametrize("name", CONTRACT)
def test_contract(name: str, type_: str, subject: str, backend: str) -> None:
    """Every property holds for every registered processor."""
    check(name, SUBJECTS[type_][subject], backend=backend, examples=100)
