"""The shipped patterns on what is private data by a hair: streamed as whole, and judged from outside."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Final

import anyio
import pytest
import regex
from chunk_invariance import assert_chunk_invariant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from guardrails import Pipeline, Strategy
from guardrails.adapters.text import to_chunks, to_text
from guardrails.testing import cuts, cuttings
from guardrails.text.pattern import Pattern
from processors._patterns._common import START
from processors._patterns.private_data import PRIVATE_DATA
from processors.regex import Regex
from tests.text.streams import guard, said, some_cuttings

Span = tuple[int, int, str]
Cut = Callable[[str], list[str]]
COMPILED: Final = [(pattern, regex.compile(pattern.pattern)) for pattern in PRIVATE_DATA]
IDS: Final = [f"{place} {pattern.label}" for place, pattern in enumerate(PRIVATE_DATA)]
LEADS: Final = regex.compile(r"^(?:\(\?<!(?:\[(?:[^\]\\]|\\.)*\]|[^()\[\]])*\))+")
QUICKLY: Final = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def spans_of(text: str) -> list[Span]:
    """What is found in a whole text: leftmost, then in the order of the patterns, each asked alone."""
    spans: list[Span] = []
    at = 0
    while at < len(text):
        span = next(filter(None, (accepted(pattern, found, text, at) for pattern, found in COMPILED)), None)
        if span is not None:
            spans.append(span)
        at = at + 1 if span is None else span[1]
    return spans


def accepted(pattern: Pattern, found: "regex.Pattern[str]", text: str, at: int) -> Span | None:
    candidate = found.match(text, at)
    if candidate is None:
        return None
    length = pattern.verify(candidate[0]) if pattern.verify else len(candidate[0])
    return (at, at + length, pattern.label) if length else None


def edited(text: str, strategy: str) -> str:
    """The whole text with what is found redacted, removed or masked."""
    out, at = "", 0
    for start, end, label in spans_of(text):
        kept = min(4, (end - start) // 4)
        masked = "*" * (end - start - kept) + text[end - kept : end]
        out += text[at:start] + {"redact": f"[{label}]", "remove": "", "mask": masked}[strategy]
        at = end
    return out + text[at:]


# --- values, invented as they are drawn


def digits(least: int, most: int | None = None) -> SearchStrategy[str]:
    return st.text("0123456789", min_size=least, max_size=least if most is None else most)


def luhn(number: str) -> str:
    """The number with its check digit."""
    total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(number)))
    return number + str(-total % 10)


ISSUED: Final = {
    "4": 16,
    "51": 16,
    "2221": 16,
    "34": 15,
    "6011": 16,
    "36": 14,
    "3528": 16,
    "1800": 15,
    "50": 12,
}


@st.composite
def cards(draw: st.DrawFn) -> str:
    prefix, length = draw(st.sampled_from(sorted(ISSUED.items())))
    length += draw(st.sampled_from([0, 0, 0, 0, 1, 3]))
    number = luhn(prefix + draw(digits(length - len(prefix) - 1)))
    size, between = draw(
        st.sampled_from([(19, ""), (4, " "), (4, "-"), (6, " "), (2, " "), (1, "-"), (3, " ")])
    )
    return between.join(number[at : at + size] for at in range(0, len(number), size))


@st.composite
def ibans(draw: st.DrawFn) -> str:
    country, length = draw(st.sampled_from([("NO", 15), ("DE", 22), ("GB", 22), ("MT", 31), ("FR", 27)]))
    account = draw(st.text("0123456789ABXZ", min_size=length - 4, max_size=length - 4))
    number = "".join(str(int(char, 36)) for char in f"{account}{country}00")
    iban = f"{country}{98 - int(number) % 97:02}{account}"
    iban = iban.lower() if draw(st.booleans()) else iban
    between = draw(st.sampled_from(["", " ", "-"]))
    return between.join(iban[at : at + 4] for at in range(0, length, 4))


@st.composite
def mails(draw: st.DrawFn) -> str:
    atoms = st.lists(st.text("abz09é", min_size=1, max_size=5), min_size=1, max_size=3)
    joint = draw(st.sampled_from([".", "+", "_", "--", "%", "'"]))
    labels = draw(st.lists(st.text("abz09-", min_size=1, max_size=5), min_size=1, max_size=3))
    top = draw(st.sampled_from(["com", "org", "de", "xn--p1ai", "c", "museum", "рф"]))
    return f"{joint.join(draw(atoms))}@{'.'.join([*labels, top])}"


octet: Final = st.one_of(st.integers(0, 255), st.integers(0, 300)).map(str)
group: Final = st.text("0123456789abcdefABCDEF", max_size=4)
ipv4s: Final = st.one_of(
    st.lists(octet, min_size=4, max_size=4), st.lists(octet, min_size=3, max_size=5)
).map(".".join)
ipv6s: Final = st.one_of(
    st.lists(group, min_size=3, max_size=9).map(":".join),
    st.tuples(st.sampled_from(["2001:db8", "fe80", "::ffff", ""]), group, ipv4s).map(":".join),
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(str),
    st.sampled_from(["fe80::1", "::1", "2001:db8::7:1", "64:ff9b::10.1.2.3", "1::2", "add::face", "::"]),
)
ssns: Final = st.builds(
    lambda area, middle, last, between: between.join((area, middle, last)),
    st.one_of(st.integers(1, 665).map("{:03}".format), digits(3)),
    st.one_of(st.integers(1, 99).map("{:02}".format), digits(2)),
    digits(4),
    st.sampled_from(["-", " "]),
)


@st.composite
def phones(draw: st.DrawFn) -> str:
    shape = draw(
        st.sampled_from(
            [
                *(
                    "+44 ## #### ####",
                    "+1 (###) ###-####",
                    "+##########",
                    "0049 ### #######",
                    "+## # ## ## ## ##",
                ),
                *("(2##) 555-####", "212-555-####", "1.415.555.####", "212 555 ####", "555 ####"),
                *("0#.##.##.##.##", "0## #### ####", "0#-####-####", "(0##) #######", "Phone: ### ####"),
                *(
                    "tel. (###) ##-##",
                    "call me at ### ## ##",
                    "212-555-#### x##",
                    "212 555 0###",
                    "call 2## 555 ####",
                    "030 ######-#",
                    "Desk: 54########",
                    "answering at ## ### ###",
                    "\n### ## ### office\n",
                    "+44 (0)## #### ####, ext. ###",
                ),
            ]
        )
    )
    return "".join(draw(st.sampled_from("0123456789")) if char == "#" else char for char in shape)


INVENTED: Final[dict[str, SearchStrategy[str]]] = {
    "EMAIL_ADDRESS": mails(),
    "IBAN_CODE": ibans(),
    "CREDIT_CARD": cards(),
    "IP_ADDRESS": st.one_of(ipv4s, ipv6s),
    "US_SSN": ssns,
    "PHONE_NUMBER": phones(),
}


@st.composite
def identifiers(draw: st.DrawFn) -> str:
    """A UUID, a digest or a number with decimals, most of them digits."""
    digit = st.text("0011223344455678899abcdefF", min_size=12, max_size=12)
    groups = [draw(digit)[:size] for size in (8, 4, 4, 4, 12)]
    return draw(st.sampled_from(["-", "-", "", " ", "."])).join(groups)


def from_pattern(pattern: Pattern) -> SearchStrategy[str]:
    """What the pattern itself describes, where `re` can read it without its leading look-behinds."""
    body = LEADS.sub("", pattern.pattern.removeprefix(START))
    try:
        return st.from_regex(re.compile(body), fullmatch=True, alphabet=st.characters(codec="ascii"))
    except re.error:
        return INVENTED[pattern.label]


LETTERS: Final = "a9 .-@:,+(é漢\n_Z"


@st.composite
def near_misses(draw: st.DrawFn, pattern: Pattern) -> str:
    """A value, mostly with a character dropped, doubled, swapped, replaced or added, among other text."""
    invented = INVENTED[pattern.label]
    text = draw(st.one_of(invented, invented, invented, from_pattern(pattern), identifiers()))[:80]
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        at = draw(st.integers(0, max(0, len(text) - 1)))
        head, char, tail = text[:at], text[at : at + 1], text[at + 1 :]
        other = draw(st.sampled_from(LETTERS))
        forms = [head + tail, head + char * 2 + tail, head + tail[:1] + char + tail[1:]]
        text = draw(st.sampled_from([*forms, head + other + tail, head + char + other + tail]))
    around = st.text(LETTERS, max_size=4)
    space = st.sampled_from([" ", "\n", ", "])
    apart = st.one_of(space, around)
    again = draw(st.sampled_from(["", text, text[: len(text) // 2]]))
    return draw(apart) + text + draw(apart) + again + draw(around)


@pytest.mark.parametrize("pattern", PRIVATE_DATA, ids=IDS)
def test_near_misses_are_found_in_pieces_as_in_the_whole(pattern: Pattern) -> None:
    """In any cutting exactly that is found which the patterns find in the whole text, each asked alone."""
    processor = Regex(presets=["private-data"])

    @QUICKLY
    @given(near_misses(pattern), cuttings)
    def check(text: str, cut: Cut) -> None:
        expected = spans_of(text)
        for pieces in (cut(text), list(text), [text]):
            came = guard(pieces, processor)
            assert [(one.start, one.end, one.label) for one in came.result.findings] == expected
            assert came.result.text == edited(text, "redact")

    check()


@pytest.mark.parametrize("pattern", PRIVATE_DATA, ids=IDS)
def test_disguised_near_misses(pattern: Pattern) -> None:
    """Wide, invisible and exotic characters change nothing about that."""
    processor = Regex(presets=["private-data"])
    disguises = {"-": "\u2011", " ": "\u00a0", ".": "．", "@": "＠", "1": "１", "a": "ａ"}

    @QUICKLY
    @given(near_misses(pattern), st.lists(st.integers(0, 3), min_size=1, max_size=7), cuttings)
    def check(text: str, kinds: list[int], cut: Cut) -> None:
        hidden = ""
        for place, char in enumerate(text):
            kind = kinds[place % len(kinds)]
            hidden += disguises.get(char, char) if kind == 1 else char + "\u200b" * (kind == 2)
        whole = guard(hidden, processor)
        assert guard(cut(hidden), processor).comparable == whole.comparable
        labels = [finding.label for finding in whole.result.findings]
        assert labels == [label for _, _, label in spans_of(text)]

    check()


@pytest.mark.parametrize("strategy", ["block", "mask", "remove"])
def test_other_strategies(strategy: Strategy) -> None:
    """Under other strategies, too, what leaves is that of the whole text."""
    processor = Regex(presets=["private-data"], strategy=strategy)
    any_of_them = st.sampled_from(PRIVATE_DATA).flatmap(near_misses)

    @QUICKLY
    @given(any_of_them, cuttings)
    def check(text: str, cut: Cut) -> None:
        spans = spans_of(text)
        expected = text[: spans[0][0]] if spans else text
        assert said(cut(text), processor) == (expected if strategy == "block" else edited(text, strategy))

    check()


@pytest.mark.parametrize("escape", ["\\n", "%3D", "\\u003d", "\x1b[31m"])
def test_behind_an_escape(escape: str) -> None:
    """The letter or digit at the end of an escape does not hide what is behind it."""
    for value, label in (("4539 5787 6362 1486", "CREDIT_CARD"), ("10.20.30.40", "IP_ADDRESS")):
        for pieces in some_cuttings(f"x{escape}{value} ok"):
            assert guard(pieces, Regex(presets=["private-data"])).result.text == f"x{escape}[{label}] ok"


# --- the outside judge

SENTENCES: Final = {
    "mail": "write to ilse.roth@example.org, now",
    "mail and card": "ilse@example.org paid 4539 5787 6362 1486.",
    "iban": "to NL91 ABNA 0417 1643 00 or NL91",
    "addresses": "10.20.30.40, 1.2.3.4.5 and 2001:db8:0:1::7",
    "numbers": "(212) 555-0143 536-90-4399 +44 20 7946 0958",
    "nothing": "1.1.1. a@ b@c -- 12:30 [2024-01-02] ::",
    "cut off": "and 4539 5787 6362 14",
}
SHORT: Final = {
    "mail": "a ilse@example.org!",
    "address": "v 10.20.30.40 1.2.",
    "number": "5 536-90-4399 0",
}


def with_anyio(processor: Regex, backend: str) -> Callable[[Iterable[str]], Iterator[str]]:
    """A stream filter made of a pipeline."""

    async def read(pieces: list[str]) -> list[str]:
        async with Pipeline([processor]).stream(to_chunks(pieces)) as chunks:
            texts: AsyncIterator[str] = to_text(chunks)
            return [text async for text in texts]

    return lambda pieces: iter(anyio.run(read, list(pieces), backend=backend))


def with_threads(processor: Regex, pieces: Iterable[str]) -> Iterator[str]:
    """A stream filter for callers without an event loop."""
    deltas = [{"type": "text-delta", "payload": {"id": "t", "text": piece}} for piece in pieces]
    with Pipeline([processor]).stream_sync(deltas) as chunks:
        yield from [str(getattr(chunk, "payload").text) for chunk in chunks]  # noqa: B009 - all are deltas


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("strategy", ["redact", "mask", "remove"])
@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_the_outside_judge_finds_no_cut_that_matters(sentence: str, strategy: Strategy, backend: str) -> None:
    """Every cut in two gives what filtering the whole text gives."""
    stream_filter = with_anyio(Regex(presets=["private-data"], strategy=strategy), backend)
    assert assert_chunk_invariant(stream_filter, partial(edited, strategy=strategy), sentence) == len(
        sentence
    )


@pytest.mark.parametrize("strategy", ["redact", "mask"])
@pytest.mark.parametrize("sentence", SHORT.values(), ids=SHORT)
def test_the_outside_judge_finds_no_two_cuts_that_matter(sentence: str, strategy: Strategy) -> None:
    """Every cut in up to three gives what filtering the whole text gives."""
    stream_filter = with_anyio(Regex(presets=["private-data"], strategy=strategy), "asyncio")
    whole = partial(edited, strategy=strategy)
    assert assert_chunk_invariant(stream_filter, whole, sentence, splits=3) > len(sentence)


def test_the_outside_judge_on_the_sync_shell() -> None:
    """The sync shell gives the same."""
    stream_filter = partial(with_threads, Regex(presets=["private-data"]))
    assert_chunk_invariant(stream_filter, partial(edited, strategy="redact"), SENTENCES["mail"])


def test_the_outside_judge_objects() -> None:
    """The judge is awake: a filter that looks at each piece alone does not get past it."""

    def each_alone(pieces: Iterable[str]) -> Iterator[str]:
        return (edited(piece, "redact") for piece in pieces)

    with pytest.raises(AssertionError):
        assert_chunk_invariant(each_alone, partial(edited, strategy="redact"), SENTENCES["mail"])


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_surrogates_around_private_data(sentence: str) -> None:
    """Characters beyond the basic plane next to it, cut within or not, change nothing."""
    text, processor = f"😀{sentence}😀", Regex(presets=["private-data"])
    whole = guard(text, processor)
    for size in (1, 2, 3, 5):
        assert guard(cuts([size])(text), processor).comparable == whole.comparable
    for pieces in some_cuttings(text):
        assert said(pieces, processor) == whole.result.text
