"""What is bounded: holds, queues, searches; and what a bound may not change."""

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final

import anyio
import pytest
import regex

from guardrails import Detection, Parallel, Pipeline, Processor, Segment, TextProcessor
from guardrails.testing import Outcome, Patterns, SlowWords, cuts
from processors.regex import Regex, Rule
from tests.text.streams import (
    cause,
    code,
    delta,
    end,
    guard,
    guard_chunks,
    in_random_pieces,
    note,
    ones,
    pieces_of,
    said,
    same_in_every_cutting,
    some_cuttings,
    start,
    within,
)

HOLD: Final = 64
STRATEGIES: Final = ("block", "remove", "redact", "mask", "warn")
QUOTED: Final = "<[a-z]{1,5000}>"


def quoted(strategy: str = "redact", **settings: Any) -> Patterns:
    return Patterns(id="quoted", find=QUOTED, strategy=strategy, **{"max_hold": HOLD, **settings})


def rule(pattern: str, strategy: str = "redact", **settings: Any) -> Regex:
    return Regex(strategy=strategy, rules=[{"name": "rule", "pattern": pattern, **settings}])


def same(text: str, make: Callable[[], Processor], most: int = 5) -> Outcome:
    return same_in_every_cutting(text, lambda: [make()], most)


# --- max_hold


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_character_below_the_limit_passes(strategy: str) -> None:
    """A candidate that is decided by the character that would reach the limit is no overflow."""
    text = "so <" + "a" * (HOLD - 2) + "! ok"
    assert same(text, lambda: quoted(strategy)).result.text == text


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ending", ["", "!", ">", "a> ok", "a" * 500 + ">", "> and <b> ok"])
def test_a_candidate_that_reaches_the_limit_blocks(strategy: str, ending: str) -> None:
    """Exactly `max_hold` undecided characters block, however they came, whatever follows."""
    came = same("so <" + "a" * (HOLD - 1) + ending, lambda: quoted(strategy))
    assert came.result.text == "so "
    assert came.result.status == "blocked"
    assert code(came.result) == "limit.hold"
    assert cause(came.result) == "limit"
    assert [finding.start for finding in came.result.findings] == [3]


def test_the_finding_of_a_limit_does_not_depend_on_the_cutting() -> None:
    """The finding covers what was held when the limit was reached, not what happened to come with it."""
    whole = guard("so <" + "a" * 300, quoted()).result.findings
    cut = guard(ones("so <" + "a" * 300), quoted()).result.findings
    assert [(finding.start, finding.end) for finding in cut] == [(3, 3 + HOLD)]
    assert whole == cut


def test_the_limit_is_said_without_text() -> None:
    """The tripwire says that a limit was reached, by whom and where."""
    came = guard("so <" + "a" * 300, quoted())
    assert came.result.tripwire is not None
    reason = "quoted reached a limit (limit.hold) before it could decide about the text."
    assert came.result.tripwire.payload.reason == reason
    assert came.result.tripwire.payload.metadata == {
        "code": "limit.hold",
        "label": "LIMIT",
        "surface": "text",
        "channel": "t",
        "cause": "limit",
    }


def test_candidates_within_one_big_delta_are_seen() -> None:
    """A candidate that is longer than the limit blocks though its end came with its beginning."""
    long = "<" + "a" * 200 + ">"
    assert same(f"<ok> so {long} end", quoted).result.text == "[FOUND] so "


def test_findings_before_a_limit_stand() -> None:
    """What is found before a limit is reached leaves under its strategy."""
    came = same("<ab> so <" + "c" * 200, lambda: quoted("mask"))
    assert came.result.text == "***> so "
    assert [finding.code for finding in came.result.findings] == ["test.found", "limit.hold"]


def test_a_complete_match_that_may_still_grow_is_held_too() -> None:
    """A match that ends where the text ends so far is undecided, and bounded."""
    came = same("x " + "7" * 100, lambda: Patterns(find=r"7{3,5000}", max_hold=HOLD))
    assert came.result.text == "x "
    assert code(came.result) == "limit.hold"
    came = same("x " + "7" * (HOLD - 1) + " y", lambda: Patterns(find=r"7{3,5000}", max_hold=HOLD))
    assert came.result.text == "x [FOUND] y"


@pytest.mark.parametrize(
    "text", ["<" + "\u200b" * 400 + "b! ok", "<\u200b" * 300, "<" + "ﬃ" * 30 + "! ok"], ids=ascii
)
def test_the_limit_counts_the_same_in_every_cutting(text: str) -> None:
    """Characters that are dropped or expanded change nothing about that."""
    same(text, quoted, most=50)


def test_invisible_characters_do_not_wait_without_bound() -> None:
    """A candidate with invisible characters in it is bounded alike in one delta and in many."""
    text = "so <a" + "\u200b" * 3000 + "b> ok"
    whole = guard(text, quoted(max_waiting=1000))
    cut = guard(pieces_of(text, 100), quoted(max_waiting=1000))
    assert whole.result.status == cut.result.status


def test_a_group_is_held_by_its_strictest_member() -> None:
    """In a group the member whose limit is reached is the one that blocks."""

    def members() -> Processor:
        loose = Patterns(id="loose", find=QUOTED, max_hold=5000)
        return Parallel(members=(loose, quoted("warn")))

    came = same("so <" + "a" * 200 + "> ok", members)
    assert came.result.tripwire is not None
    assert came.result.tripwire.payload.processor_id == "quoted"
    assert came.result.text == "so "


# --- max_waiting


def test_what_waits_behind_held_text_is_bounded() -> None:
    """Other texts wait behind an undecided one, up to `max_waiting` characters."""
    processor = quoted(max_waiting=100)
    given = [start("a"), start("b"), delta("so <a", "a"), *[delta("x", "b")] * 98, delta("!", "a")]
    assert guard_chunks([*given, end("a"), end("b")], processor).result.status == "completed"
    given = [start("a"), start("b"), delta("so <a", "a"), *[delta("x", "b")] * 99, delta("!", "a")]
    came = guard_chunks([*given, end("a"), end("b")], processor)
    assert came.result.status == "blocked"
    assert code(came.result) == "limit.waiting"
    assert cause(came.result) == "limit"
    assert came.result.text == "so "
    assert [finding.channel for finding in came.result.findings] == ["a"]


@pytest.mark.parametrize("size", [1, 7, 99, 5000])
def test_what_waits_is_counted_in_characters(size: int) -> None:
    """How the waiting text is cut does not matter."""
    waiting = [delta(piece, "b") for piece in pieces_of("x" * 5000, size)]
    came = guard_chunks([start("a"), start("b"), delta("<a", "a"), *waiting], quoted(max_waiting=4000))
    assert code(came.result) == "limit.waiting"
    assert came.result.text == ""


def test_other_chunks_that_wait_are_bounded() -> None:
    """Chunks of other kinds count with their size as JSON."""
    came = guard_chunks([start(), delta("<a"), *[note()] * 1000], quoted(max_waiting=2000))
    assert code(came.result) == "limit.waiting"
    assert [chunk.type for chunk in came.chunks][:2] == ["text-start", "text-end"]


def test_a_bound_for_waiting_forgets_what_has_left() -> None:
    """Text that is decided as it comes may go on for ever."""
    given = [start("a"), start("b")]
    for _ in range(300):
        given += [delta("so <a", "a"), delta("words", "b"), note(), delta("! ", "a")]
    came = guard_chunks(given, quoted(max_waiting=150))
    assert came.result.status == "completed"


def test_a_long_text_in_small_deltas_does_not_wait_for_quick_checks() -> None:
    """Checks that are answered are heard while the source goes on giving chunks."""
    text = "A good word. " * 8000
    came = guard(pieces_of(text, 1000), SlowWords(find="bad", max_waiting=50_000))
    assert came.result.status == "completed"
    assert came.result.text == text


# --- max_length

STATED: Final = {
    "possessive": (r"x[ab]*+c", 8, "xaabc xc xabab xaaaaaaaac xc"),
    "atomic": (r"(?>a|ab)c", 3, "ac abc aac xabc ac"),
    "back-reference": (r"(\w)\1\w", 3, "aab abb aaa bbbb abba xx"),
    "inner look-behind": (r"a(?<=xa)b", 3, "ab xab aab xxab xa"),
    "word edges": (r"\mab\M", 4, "ab abc cab ab, xab ab"),
    "conditional": (r"(<)?a(?(1)>|!)", 3, "<a> a! <a! a> <a>"),
    "absolute end": (r"ab\Z", 3, "ab abab ab"),
    "optional": (r"a?b*", 4, "ab bbb aab c abbb"),
    "fuzzy": (r"(?:abcd){s<=1}", 4, "abcd abxd axxd abc"),
    "named reference": (r"(?P<q>['\"])\w{1,3}(?P=q)", 5, "'abc' \"ab' 'x' \"y\""),
    "long look-behind": (r"(?<=start[a-z ]{100})x++", 110, "start" + "a" * 100 + "x" + "b" * 400 + "x"),
}


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("strategy", ["redact", "remove", "block", "warn"])
def test_a_stated_length_finds_the_same_in_every_cutting(name: str, strategy: str) -> None:
    """A pattern held by its stated length finds the same however the text is cut, at its end too."""
    pattern, length, text = STATED[name]
    for beginning in ("", "so ", "-" * 70, "- " * 500):
        same(beginning + text, lambda: rule(pattern, strategy, max_length=length))


@pytest.mark.parametrize("name", sorted(set(STATED) - {"optional", "possessive"}))
def test_a_stated_length_finds_what_the_engine_finds(name: str) -> None:
    """What fits the stated length is found as the engine finds it in the whole text."""
    pattern, length, text = STATED[name]
    expected = regex.sub(pattern, "[RULE]", text)
    for pieces in some_cuttings(text):
        assert said(pieces, rule(pattern, max_length=length)) == expected


def test_of_what_is_longer_than_stated_that_much_is_found() -> None:
    """A match of more than `max_length` characters is cut there; nothing of it passes for being too long."""
    assert same("x1234 x12345", lambda: rule(r"x\d++", max_length=5)).result.text == "[RULE] [RULE]5"


@pytest.mark.parametrize("pattern", [r"(?r)abc", r"(?r:abc)"])
def test_a_reverse_search_is_found_or_refused(pattern: str) -> None:
    """A pattern that is read backwards is not accepted and then never found."""
    try:
        processor = rule(pattern, max_length=5)
    except ValueError:
        return
    assert said("so abc is here", processor) == "so [RULE] is here"


@pytest.mark.parametrize(("pattern", "expected"), [(r"ab\Kcd", "so ab[RULE]"), (r"\Gab", "so abcd")])
def test_what_the_engine_reads_from_its_own_place_is_found_or_refused(pattern: str, expected: str) -> None:
    r"""`\K` keeps what stands before it, `\G` is where a search began; or they are refused by name."""
    try:
        processor = rule(pattern, max_length=6)
    except ValueError:
        return
    assert said("so abcd", processor) == expected


def test_a_stated_length_holds_so_many_characters_at_most() -> None:
    """Text leaves as soon as `max_length` characters and one have come after it."""
    given = [start(), *[delta(char) for char in "abcdefghij"]]
    came = guard_chunks([*given, note()], rule(r"z++", max_length=4))
    assert came.result.text == "abcdefghij"
    sent = [chunk.type for chunk in guard_chunks(given, rule(r"z++", max_length=4)).chunks]
    assert sent.count("text-delta") >= 6


# --- time


SLOW: Final = r"(?:a|a)+b"
TRAP: Final = "x " + "a" * 60 + "c"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_search_that_runs_on_blocks(size: int) -> None:
    """A pattern that runs past the time limit fails closed, and nothing undecided leaves."""
    with within(60):
        came = guard(pieces_of(TRAP, size), Patterns(id="slow", find=SLOW))
    assert came.result.status == "blocked"
    assert cause(came.result) == "timeout"
    assert came.result.tripwire is not None
    assert came.result.tripwire.payload.processor_id == "slow"
    assert "x ".startswith(came.result.text)


def test_a_search_that_runs_on_passes_if_so_wished(caplog: pytest.LogCaptureFixture) -> None:
    """Under `on_error: pass` the text passes, the stream ends, and a warning is logged without text."""
    with within(60):
        came = guard(ones(TRAP), Patterns(id="slow", find=SLOW, on_error="pass"))
    assert came.result.status == "completed"
    assert came.result.text == TRAP
    assert "slow failed (TimeoutError)" in caplog.text
    assert "aaa" not in caplog.text


class TooFar(TextProcessor):
    """Finds more than there is."""

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        return [[Detection(0, len(one.text) + 1, "X", "x.x")] for one in segments]


class Nothing(TextProcessor):
    """Gives no answer."""

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        return None if segments else []  # type: ignore[return-value]  # as somebody may write it


class NotAsync(TextProcessor):
    """Answers at once."""

    def detect(self, segments: Sequence[Segment]) -> Any:
        return [[] for _ in segments]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (TooFar, "`detect` gave a detection that is empty or not within its segment"),
        (Nothing, "`detect` must give a list with one answer for each segment"),
        (NotAsync, "`detect` must be `async def`"),
    ],
)
def test_a_wrong_detector_is_told_what_is_wrong(
    kind: type[TextProcessor], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It blocks, as anything that fails does; the log says what its author has to mend."""
    came = guard(["some words"], kind())
    assert cause(came.result) == "error"
    assert why in caplog.text
    assert "some" not in caplog.text


def test_what_was_found_before_a_search_ran_on_stays_found() -> None:
    """Under `on_error: pass` a failed search takes nothing back that was decided before it."""
    text = "a secret, " + "-" * 20_000 + TRAP + " and"

    def make() -> Processor:
        return Patterns(id="slow", find=f"secret|{SLOW}", on_error="pass")

    with within(60):
        assert "secret" not in guard(pieces_of(text, 1000), make()).result.text
        assert "secret" not in guard(text, make()).result.text


def test_edits_of_others_stand_when_one_fails() -> None:
    """Under `on_error: pass` the other members of a group go on."""
    members = Parallel(members=(Patterns(id="slow", find=SLOW, on_error="pass"), quoted()))
    with within(60):
        assert guard(pieces_of("<ab> " + TRAP + " <cd>", 9), members).result.text == f"[FOUND] {TRAP} [FOUND]"


# --- long secrets

_random: Final = Random(7)
KEY: Final = "sk-" + "".join(_random.choice("ABCDEFGHabcdefgh0123456789") for _ in range(240))
MARK: Final = "PRIVATE" + " KEY-----"
BLOCK: Final = (
    f"-----BEGIN {MARK}\n"
    + "\n".join("".join(_random.choice("ABCDEFGHabcdefgh0123456789+/") for _ in range(64)) for _ in range(8))
    + f"\n-----END {MARK}"
)
SECRETS: Final = {"key": KEY, "block": BLOCK}
RULES: Final = [
    {"name": "card", "pattern": r"\b(?:\d[ -]?){13,16}\b"},
    {"name": "mail", "pattern": r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b"},
    {"name": "key", "pattern": r"sk-[A-Za-z0-9]{40,}"},
    {"name": "block", "pattern": rf"-----BEGIN {MARK}[\s\S]+?-----END {MARK}"},
]
BEFORE: Final = "Plain prose flows on without any private data in it. " * 6 + "The secret is "
AFTER: Final = " ok. " + "Plain prose flows on. " * 20


def cuttings_of_a_secret(secret: str) -> Iterator[list[str]]:
    """Many cuttings, and every cut in two within the secret."""
    text = BEFORE + secret + AFTER
    yield from some_cuttings(text)
    for size in (2, 3, 5, 16, 64, 257):
        yield pieces_of(text, size)
    for seed in range(10):
        yield in_random_pieces(text, seed, 200)
    for at in range(len(BEFORE), len(BEFORE) + len(secret) + 1):
        yield [text[:at], text[at:]]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("strategy", ["redact", "block"])
def test_long_secrets_leak_nothing(name: str, strategy: str) -> None:
    """Not one character of a long key or of a key block is received, in any cutting."""
    expected = BEFORE + (f"[{name.upper()}]{AFTER}" if strategy == "redact" else "")
    for pieces in cuttings_of_a_secret(SECRETS[name]):
        came = guard(pieces, Regex(strategy=strategy, rules=RULES))
        assert came.result.text == expected
        assert came.result.status == ("completed" if strategy == "redact" else "blocked")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("strategy", ["redact", "block"])
def test_a_text_that_ends_within_a_secret(name: str, strategy: str) -> None:
    """What a text that breaks off has begun is judged as it stands: in whole and in pieces alike."""
    for kept in (3, 20, 50, 150, len(SECRETS[name]) - 1):
        text = BEFORE + SECRETS[name][:kept]
        same(text, lambda: Regex(strategy=strategy, rules=RULES))


# --- traps

TRAPS: Final = {
    "version": "1.",
    "dots": ".",
    "a@": "a@",
    "dashes": "-",
    "digits": "7",
    "spaced digits": "7 ",
    "hex": "a:",
    "sentences": "a. ",
    "brackets": ".)",
    "spaces": " ",
    "lines": "\n",
    "zero width": "a\u200b",
    "wide": "１",
    "country": "DE12 ",
    "mail tail": "a@b.",
}


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
@pytest.mark.parametrize("size", [4, 200_000], ids=["in deltas", "in one piece"])
def test_no_run_of_text_costs_more_than_its_length(trap: str, size: int) -> None:
    """200,000 characters of a trap pass in a few seconds; a quadratic cost would take many minutes."""
    text = (trap * 200_000)[:200_000]
    began = time.process_time()
    came = guard(pieces_of(text, size), Regex(presets=["private-data"]))
    assert time.process_time() - began < 20
    assert came.result.status == "completed"


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_no_run_of_text_is_too_much_for_unbounded_rules(trap: str) -> None:
    """The same with rules that nobody has bounded: they may reach a limit, and then block."""
    text = (trap * 50_000)[:50_000]
    began = time.process_time()
    came = guard(pieces_of(text, 4), Regex(rules=RULES))
    assert time.process_time() - began < 20
    assert came.result.status == "completed" or code(came.result) == "limit.hold"


def test_surrogates_are_counted_as_characters() -> None:
    """A limit counts characters beyond the basic plane once, cut within or not."""
    text = "<" + "a" * 40 + "👍" * 10 + "! ok"
    processor = Patterns(find="<[a-z👍]{1,500}>", max_hold=HOLD)
    whole = guard(text, processor)
    for size in (1, 2, 3):
        assert guard(cuts([size])(text), processor).comparable == whole.comparable
    assert whole.result.text == text


def test_one_long_delta_may_wait_for_its_checks() -> None:
    """What waits for a check is no overflow: it is bounded by reading no more."""
    text = "a good word. " * 30_000
    for pieces in ([text], [text[at : at + 5_000] for at in range(0, len(text), 5_000)]):
        deltas = [{"type": "text-delta", "payload": {"id": "t", "text": piece}} for piece in pieces]
        result = anyio.run(Pipeline([SlowWords(find="bad")]).run, deltas)
        assert (result.status, result.text) == ("completed", text)


@pytest.mark.parametrize("closed", [True, False])
def test_texts_that_are_never_closed_have_a_limit(closed: bool) -> None:
    """A producer that opens ever new texts is blocked; one that closes them may go on."""
    source = []
    for number in range(3_000):
        source.append({"type": "text-delta", "payload": {"id": str(number), "text": "good "}})
        source += [{"type": "text-end", "payload": {"id": str(number)}}] if closed else []
    result = anyio.run(Pipeline([Patterns(find="bad")]).run, source)
    assert result.status == ("completed" if closed else "blocked")
    if result.tripwire is not None:
        assert result.tripwire.payload.metadata["code"] == "limit.texts"


def test_a_stated_length_must_fit_into_what_may_be_held() -> None:
    """A `max_length` that reaches `max_hold` would block clean text, and is an error."""
    with pytest.raises(ValueError, match="max_hold: it must be more than every max_length"):
        rule(r"a++b", max_length=16_384)


def test_equal_finds_are_told_apart_by_their_rules_not_by_time() -> None:
    """Where an exact rule and one with a stated length find the same, the former counts in every cutting."""
    rules = (Rule(name="exact", pattern="abc(?! [a-z]{5})"), Rule(name="window", pattern="abc", max_length=3))
    assert same("zz abc def ghi", lambda: Regex(rules=rules)).result.text == "zz [EXACT] def ghi"
