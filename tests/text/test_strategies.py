"""What is done about findings: the strategies, and findings that overlap."""

import hashlib
import hmac
import json
import logging
import pickle
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

import anyio
import pytest
from anyio.lowlevel import checkpoint

from guardrails import (
    Detection,
    Parallel,
    Pattern,
    Pipeline,
    Processor,
    Run,
    Segment,
    TextProcessor,
    dump_chunk,
)
from guardrails.processor import Record
from guardrails.testing import Outcome, Patterns, SlowWords
from guardrails.text.member import Place
from tests.text.streams import (
    code,
    delta,
    end,
    guard,
    guard_chunks,
    ones,
    same_in_every_cutting,
    some_cuttings,
    start,
    texts_in,
)

CARD: Final = "1234 5678"
DIGITS: Final = r"\d{4} \d{4}"
TEXT: Final = f"my card {CARD} is new"
KEY: Final = "an invented key of 24 b"


class Spans(TextProcessor):
    """Finds one pattern with a label, a score and a replacement of its own."""

    find: str
    label: str
    score: float = 1.0
    replacement: str | None = None

    def patterns(self) -> Sequence[Pattern]:
        """The one."""
        code = f"test.{self.label.lower()}"
        return [Pattern(self.label, self.find, code, score=self.score, replacement=self.replacement)]


class Late(TextProcessor):
    """Finds a word in segments, long after everyone else has decided."""

    find: str

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """Take time."""
        for _ in range(50):
            await checkpoint()
        places = [segment.text.find(self.find) for segment in segments]
        return [
            [Detection(at, at + len(self.find), "LATE", "test.late", 0.5)] if at >= 0 else [] for at in places
        ]


def digits(strategy: str, **settings: Any) -> Patterns:
    return Patterns(id="digits", find=DIGITS, strategy=strategy, **settings)


def spans(label: str, find: str, strategy: str = "redact", **settings: Any) -> Spans:
    return Spans(id=label.lower(), label=label, find=find, strategy=strategy, **settings)


def group(*members: TextProcessor) -> Parallel:
    return Parallel(members=members)


def places(came: Outcome) -> list[tuple[str, int, int]]:
    return [(finding.processor_id, finding.start, finding.end) for finding in came.result.findings]


def same(text: str, *processors: Processor) -> Outcome:
    return same_in_every_cutting(text, lambda: processors)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("remove", ""), ("redact", "[FOUND]"), ("mask", "*******78"), ("warn", CARD)],
)
def test_what_stands_in_the_place_of_a_finding(strategy: str, expected: str) -> None:
    """Each strategy does the same to whole and to cut text, and reports the finding."""
    came = same(TEXT, digits(strategy))
    assert came.result.text == f"my card {expected} is new"
    assert came.result.status == "completed"
    finding = came.result.findings[0]
    assert (finding.code, finding.label, finding.score) == ("test.found", "FOUND", 1.0)
    assert (finding.start, finding.end) == (8, 17)
    assert (finding.surface, finding.channel, finding.processor_id) == ("text", "t", "digits")
    assert finding.strategy == strategy


def test_block_ends_the_stream_before_the_finding() -> None:
    """What stands before it leaves, nothing of it does, and the finding is reported once."""
    came = same(TEXT, digits("block"))
    assert came.result.text == "my card "
    assert came.result.status == "blocked"
    assert places(came) == [("digits", 8, 17)]
    assert came.result.findings[0].strategy == "block"


def test_the_tripwire_says_what_was_found() -> None:
    """Reason and metadata name processor, label and surface, and hold no text."""
    came = same(TEXT, digits("block"))
    assert came.result.tripwire is not None
    payload = came.result.tripwire.payload
    assert payload.reason == "digits found FOUND in the text."
    assert payload.retry is False
    assert payload.processor_id == "digits"
    assert payload.metadata == {
        "code": "test.found",
        "label": "FOUND",
        "score": 1.0,
        "surface": "text",
        "channel": "t",
    }


@pytest.mark.parametrize("strategy", ["block", "remove", "redact", "mask", "warn"])
def test_findings_and_tripwires_hold_no_text(strategy: str, caplog: pytest.LogCaptureFixture) -> None:
    """What was found is in no finding, tripwire or log line, whatever is done about it."""
    caplog.set_level(logging.DEBUG)
    came = guard(ones(TEXT), digits(strategy))
    tripwire = came.result.tripwire
    told = repr(came.result.findings) + caplog.text + json.dumps(dump_chunk(tripwire) if tripwire else None)
    assert not any(part in told for part in (CARD, *CARD.split()))


def test_retry_is_asked_for_in_the_tripwire() -> None:
    """A refusal with `retry` says so."""
    came = guard(TEXT, digits("block", retry=True))
    assert came.result.tripwire is not None
    assert came.result.tripwire.payload.retry is True


def test_a_replacement_stands_in_the_place_of_the_label() -> None:
    """Under `redact` a pattern's own placeholder is used, an empty one too."""
    assert same(TEXT, spans("CARD", DIGITS, replacement="<card>")).result.text == "my card <card> is new"
    assert same(TEXT, spans("CARD", DIGITS, replacement="")).result.text == "my card  is new"


def test_hash_is_keyed_and_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text gives the same hash under the same key, another under another, and none shows it."""
    monkeypatch.setenv("TEST_KEY", KEY)
    digest = hmac.new(KEY.encode(), CARD.encode(), hashlib.sha256).hexdigest()
    came = same(f"{CARD} and {CARD}", digits("hash", key_env="TEST_KEY"))
    first, second = came.result.text.split(" and ")
    assert first == second
    assert first.startswith("[FOUND:")
    assert first[7:-1]
    assert digest.startswith(first[7:-1])
    monkeypatch.setenv("TEST_KEY", KEY + "!")
    assert same(f"{CARD} and {CARD}", digits("hash", key_env="TEST_KEY")).result.text != came.result.text


def test_hash_knows_disguised_text_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is needed before the first chunk: a processor keeps the one it was made with."""
    monkeypatch.setenv("TEST_KEY", KEY)
    processor = digits("hash", key_env="TEST_KEY")
    before = guard(TEXT, processor).result.text
    monkeypatch.delenv("TEST_KEY")
    assert guard(TEXT, processor).result.text == before


@pytest.mark.parametrize(
    ("size", "kept"), [(1, 0), (3, 0), (4, 1), (7, 1), (8, 2), (12, 3), (15, 3), (16, 4), (40, 4)]
)
def test_mask_keeps_little(size: int, kept: int) -> None:
    """At most four characters and at most a quarter stay, the last ones, and the length is kept."""
    found = "<" + "abcdefgh" * 5
    found = found[:size]
    came = same(f"- {found} -", Patterns(find=rf"<[a-z]{{{size - 1}}}", strategy="mask"))
    assert came.result.text == f"- {'*' * (size - kept)}{found[size - kept :]} -"


def test_warn_leaves_equal_chunks() -> None:
    """A finding that is only reported changes no chunk, and a delta without one is the same object."""
    given = [start(), delta("a word here "), delta("and more "), end()]
    came = guard_chunks(given, Patterns(find=r"word(?=\s)", strategy="warn"))
    assert came.chunks == given
    assert came.chunks[2] is given[2]
    assert len(came.result.findings) == 1


@pytest.mark.parametrize("strategy", ["remove", "redact", "warn", "block"])
def test_the_other_surface(strategy: str) -> None:
    """Reasoning is guarded as text is, and the finding says where it was."""
    came = guard(ones(TEXT), digits(strategy), surface="reasoning")
    assert came.result.findings[0].surface == "reasoning"
    expected = {"remove": "my card  is new", "redact": "my card [FOUND] is new", "warn": TEXT}
    assert came.result.reasoning == expected.get(strategy, "my card ")


def test_a_surface_that_is_not_named_passes() -> None:
    """`surfaces` narrows where a processor looks."""
    processor = digits("redact", surfaces=("reasoning",))
    assert guard(TEXT, processor).result.text == TEXT
    assert "[FOUND]" in guard(TEXT, processor, surface="reasoning").result.reasoning


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "hash"}, "key_env.*needs a key"),
        (
            {"strategy": "hash", "key_env": "TEST_UNSET"},
            "the environment variable that it names is not set or empty",
        ),
        (
            {"strategy": "hash", "key_env": "TEST_EMPTY"},
            "the environment variable that it names is not set or empty",
        ),
        ({"strategy": "hash", "key_env": "TEST_SHORT"}, "fewer than 16 bytes"),
        ({"strategy": "redact", "key_env": "TEST_KEY"}, "only the strategy `hash` uses a key"),
        ({"strategy": "redact", "retry": True}, "retry.*block"),
        ({"surfaces": ()}, "at least 1"),
        ({"surfaces": ("prose",)}, "surfaces"),
        ({"strategy": "erase"}, "strategy"),
        ({"on_error": "ignore"}, "on_error"),
        ({"max_hold": 63}, "max_hold"),
        ({"treshold": 1}, "treshold"),
    ],
)
def test_settings_that_nothing_serves_are_errors(
    settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that cannot work is an error that names it, before the first chunk."""
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setenv("TEST_EMPTY", "")
    monkeypatch.setenv("TEST_SHORT", "only fifteen by")
    monkeypatch.delenv("TEST_UNSET", raising=False)
    with pytest.raises(ValueError, match=message):
        Patterns(find="x", **settings)


STRENGTHS: Final = ("block", "remove", "redact", "hash", "mask", "warn")


@pytest.mark.parametrize("first", STRENGTHS)
@pytest.mark.parametrize("second", STRENGTHS)
def test_overlapping_findings_become_one_under_the_strongest(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The span is that of both, the strategy the stronger; a warning merges with nothing."""
    monkeypatch.setenv("TEST_KEY", KEY)
    keys = [{"key_env": "TEST_KEY"} if strategy == "hash" else {} for strategy in (first, second)]
    one = spans("LEFT", "abcdef", first, **keys[0])
    other = spans("RIGHT", "defghij", second, **keys[1])
    came = same("- abcdefghij -", group(one, other))
    merging = [name for name in (first, second) if name != "warn"]
    strongest = min(merging, key=STRENGTHS.index, default="warn")
    hidden = {"remove": "", "redact": "[RIGHT]", "mask": "********ij", "warn": "abcdefghij", "block": None}
    if len(merging) == 1:
        hit, rest = ("abcdef", "ghij") if second == "warn" else ("defghij", "abc")
        label = "LEFT" if second == "warn" else "RIGHT"
        digest = hmac.new(KEY.encode(), hit.encode(), hashlib.sha256).hexdigest()[:16]
        kept = hit[-(len(hit) // 4) :]
        alone = {"remove": "", "redact": f"[{label}]", "hash": f"[{label}:{digest}]"}
        alone["mask"] = "*" * (len(hit) - len(kept)) + kept
        if strongest == "block":
            assert came.result.text == ("- " if second == "warn" else "- abc")
            return
        parts = [alone[strongest], rest] if second == "warn" else [rest, alone[strongest]]
        assert came.result.text == f"- {''.join(parts)} -"
    elif strongest == "block":
        assert came.result.text == "- "
        assert came.result.status == "blocked"
        return
    elif strongest == "hash":
        digest = hmac.new(KEY.encode(), b"abcdefghij", hashlib.sha256).hexdigest()[:16]
        assert came.result.text == f"- [RIGHT:{digest}] -"
    else:
        assert came.result.text == f"- {hidden[strongest]} -"
    assert places(came) == [("left", 2, 8), ("right", 5, 12)]


@pytest.mark.parametrize(
    ("one", "other", "label"),
    [
        ({"score": 0.9}, {"score": 0.8, "find": "defghijkl"}, "LEFT"),
        ({"score": 0.8}, {"score": 0.9, "find": "ef"}, "RIGHT"),
        ({}, {"find": "defghij"}, "RIGHT"),
        ({}, {"find": "def"}, "LEFT"),
        ({}, {"find": "defghi"}, "LEFT"),
        ({}, {"find": "abcdef"}, "LEFT"),
    ],
)
def test_the_label_is_that_of_the_surest(one: dict[str, Any], other: dict[str, Any], label: str) -> None:
    """The higher score names the span, then the longer finding, then the earlier processor."""
    left = spans("LEFT", **{"find": "abcdef", **one})
    right = spans("RIGHT", **other)
    text = "- abcdefghijkl -"
    assert f"[{label}]" in same(text, group(left, right)).result.text


def test_the_earlier_processor_names_what_both_find() -> None:
    """Of two that find the same the first in the group names it, whichever that is."""
    left, right = spans("LEFT", "abc"), spans("RIGHT", "abc")
    assert same("abc", group(left, right)).result.text == "[LEFT]"
    assert same("abc", group(right, left)).result.text == "[RIGHT]"


def test_neighbours_do_not_merge() -> None:
    """Findings that touch without overlapping are two."""
    came = same("- abcdef -", group(spans("LEFT", "abc"), spans("RIGHT", "def")))
    assert came.result.text == "- [LEFT][RIGHT] -"


def test_a_warning_inside_another_finding_is_reported_and_nothing_more() -> None:
    """A warning neither widens, names nor splits the edit of another finding."""
    warn = spans("SURE", "bcdefgh", "warn", score=1.0)
    came = same("- abcd efgh -", group(warn, spans("UNSURE", "abcd", score=0.1)))
    assert came.result.text == "- [UNSURE] efgh -"
    came = same("- abcdefghi -", group(warn, spans("UNSURE", "abcd", score=0.1)))
    assert came.result.text == "- [UNSURE]efghi -"
    assert places(came) == [("unsure", 2, 6), ("sure", 3, 10)]


def test_a_chain_of_overlaps_is_one() -> None:
    """Findings of which each overlaps the next become one span, though the ends do not overlap."""
    members = [spans("A", "abcd"), spans("B", "defgh"), spans("C", "hijklm", "mask")]
    came = same("- abcdefghijklm -", group(*members))
    assert came.result.text == "- [C] -"
    assert places(came) == [("a", 2, 6), ("b", 5, 10), ("c", 9, 15)]


def test_nothing_of_a_cluster_leaves_before_the_last_of_it_is_decided() -> None:
    """What overlaps a span that is still undecided waits for it, from the start of the cluster on."""
    members = group(spans("SHORT", "abc"), spans("LONG", r"cd{1,20}e"))
    given = [start(), *[delta(char) for char in "- abcdddd"]]
    assert guard_chunks([*given, delta("e!"), end()], members).result.text == "- [LONG]!"
    assert guard_chunks([*given, delta("!"), end()], members).result.text == "- [SHORT]dddd!"


def test_a_cluster_waits_for_a_slow_member() -> None:
    """Text that one member has decided is held for the member that has decided least."""
    for pieces in some_cuttings("- abcdef ghi. More"):
        came = guard(pieces, group(spans("FAST", "abc", "mask"), Late(id="late", find="cdef ghi")))
        assert came.result.text == "- [FAST]. More"
        assert places(came) == [("fast", 2, 5), ("late", 4, 12)]


def test_a_refusal_waits_until_every_member_is_past_its_start() -> None:
    """A member that is still deciding about earlier text may refuse it first, and then counts."""
    late = Late(id="late", find="early", strategy="block")
    for pieces in some_cuttings("so early a word. More"):
        came = guard(pieces, group(spans("WORD", "word", "block"), late))
        assert code(came.result) == "test.late"
        assert came.result.text == "so "
        assert places(came) == [("late", 3, 8)]


def test_a_refusal_lets_earlier_findings_be_dealt_with() -> None:
    """What stands before a refusal leaves with its edits."""
    late = Late(id="late", find="early")
    for pieces in some_cuttings("so early a word. More"):
        came = guard(pieces, group(spans("WORD", "word", "block"), late))
        assert code(came.result) == "test.word"
        assert came.result.text == "so [LATE] a "


def test_a_refusal_overlapped_from_the_left_takes_the_whole_cluster() -> None:
    """Nothing of a span leaves that overlaps what is refused; what began it is reported, too."""
    came = same("- abcdefg -", group(spans("LEFT", "abcd"), spans("RIGHT", "defg", "block")))
    assert came.result.text == "- "
    assert places(came) == [("left", 2, 6), ("right", 5, 9)]
    assert code(came.result) == "test.right"


@pytest.mark.parametrize("strategy", ["remove", "redact", "mask", "block", "warn"])
def test_detections_are_dealt_with_as_patterns_are(strategy: str) -> None:
    """A detector's findings go through the same strategies."""
    came = same("One. A bad one. Two", SlowWords(id="slow", find="bad", strategy=strategy))
    expected = {"remove": "", "redact": "[WORD]", "mask": "***", "warn": "bad"}
    if strategy == "block":
        assert came.result.text == "One. A "
    else:
        assert came.result.text == f"One. A {expected[strategy]} one. Two"
    assert places(came) == [("slow", 7, 10)]


def test_an_edit_leaves_as_one_delta() -> None:
    """Neighbouring released pieces and the placeholder between them are one delta."""
    came = guard_chunks([start(), delta(TEXT + ". "), end()], digits("redact"))
    assert texts_in(came.chunks) == ["my card [FOUND] is new. "]


def test_removing_everything_leaves_no_empty_delta() -> None:
    """A text of which nothing is left has no deltas."""
    came = guard(ones(CARD), digits("remove"))
    assert texts_in(came.chunks) == []
    assert [chunk.type for chunk in came.chunks] == ["text-start", "text-end"]


def test_a_key_is_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of `hash` does not show where an object is printed."""
    monkeypatch.setenv("GUARD_KEY", "very-private-key")
    processor = Patterns(find="a", strategy="hash", key_env="GUARD_KEY")
    member = processor.member(Run("run", processor, Record()), 0)
    found = member.found(Pattern("A", "a", "a"), Place("text", "t"), (0, 1), "hash")
    assert found.key == b"very-private-key"
    assert "private" not in repr((processor, member, found))


def test_a_pattern_whose_own_check_fails_blocks_in_its_name() -> None:
    """A `verify` that raises is its processor's failure, in a group too; what it says too much is cut."""

    class Verified(TextProcessor):
        boom: bool = True

        def patterns(self) -> list[Pattern]:
            return [Pattern("AB", "ab", "x.ab", verify=lambda _text: 1 // (not self.boom) * 10)]

    source = [{"type": "text-delta", "payload": {"id": "t", "text": "x ab cdefgh"}}]
    group = Parallel(members=(Patterns(find="q"), Verified(id="mine")))
    result = anyio.run(Pipeline([group]).run, source)
    assert result.tripwire is not None
    payload = result.tripwire.payload
    assert (payload.processor_id, payload.metadata["surface"]) == ("mine", "text")
    passing = anyio.run(Pipeline([Verified(on_error="pass")]).run, source)
    assert (passing.status, passing.text) == ("completed", "x ab cdefgh")
    assert anyio.run(Pipeline([Verified(boom=False)]).run, source).text == "x [AB] cdefgh"


def test_a_copy_guards_with_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied, pickled or changed, a processor does what its settings say, and takes no key along."""
    monkeypatch.setenv("GUARD_KEY", "very-private-key")
    first = Patterns(find="abc", strategy="hash", key_env="GUARD_KEY")
    assert b"very-private" not in pickle.dumps(first)
    for copy in (pickle.loads(pickle.dumps(first)), deepcopy(first), first.model_copy()):  # noqa: S301 - ours
        assert copy.model_dump() == first.model_dump()
        assert guard("abc", copy).result.text == guard("abc", first).result.text
    other = first.model_copy(update={"find": "xyz"})
    assert guard("abc xyz", other).result.text.startswith("abc [FOUND:")
    with pytest.raises(ValueError, match="strategy"):
        first.model_copy(update={"strategy": "censor"})


def test_what_was_not_validated_does_not_guard() -> None:
    """A processor made around its validation blocks instead of letting everything pass."""
    unchecked = Patterns.model_construct(id="unchecked", find="abc")
    assert guard("abc", unchecked).result.status == "blocked"
