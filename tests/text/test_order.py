"""Rules 3 and 5 in detail: what leaves is in order, whole and as it came; and how a stream ends."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import anyio
import pytest

from guardrails import Chunk, Parallel, Pipeline, Processor, dump_chunk
from guardrails.chunks import TextDelta
from guardrails.testing import BACKENDS, Idle, Outcome, Patterns, SlowWords, Tape, cuts, outcome
from tests.text.streams import chunk, delta, end, guard, guard_chunks, joined_text, note, start, texts_in

SURFACES: Final = ("text", "reasoning")
LOW: Final = "\ude00"
HIGH: Final = "\ud83d"


def quoted(strategy: str = "redact", **settings: Any) -> Patterns:
    return Patterns(id="quoted", find="<[a-z]{1,20}>", strategy=strategy, **settings)


def words(strategy: str = "redact") -> SlowWords:
    return SlowWords(id="words", find="bad", strategy=strategy)


def given_before(script: Sequence[Chunk], place: int, *processors: Processor) -> list[Chunk]:
    """What a consumer has received when the chunk at a place of the script is asked for."""
    tape = Tape(script)
    anyio.run(outcome, Pipeline(processors), tape)
    return tape.received[: tape.marks[place]]


def kinds(came: Outcome) -> list[str]:
    return [one.type for one in came.chunks]


# --- what passes


@pytest.mark.parametrize("surface", SURFACES)
def test_an_untouched_delta_is_the_same_object(surface: str) -> None:
    """A delta of which nothing was held or changed is not copied."""
    script = [start(surface=surface), delta("plain ", surface=surface), delta("words", surface=surface)]
    script += [note(), delta(" go", surface=surface, providerMetadata={"a": {"b": 1}}), end(surface=surface)]
    came = guard_chunks(script, quoted(), Parallel(members=(Patterns(id="other", find="zz"),)), Idle())
    assert all(given is left for given, left in zip(script, came.chunks, strict=True))


def test_a_delta_that_was_held_whole_is_the_same_object() -> None:
    """A delta that leaves as it came, later, is not copied either."""
    script = [start(), delta("<abc"), delta("! go"), end()]
    came = guard_chunks(script, words())
    assert joined_text(came.chunks) == "<abc! go"
    script = [start(), delta("<abc"), note(), end()]
    came = guard_chunks(script, quoted())
    assert came.chunks[1] is script[1]


def test_neighbouring_pieces_leave_as_one_delta() -> None:
    """What is released at once of one text is one delta, however many it came in."""
    script = [start(), *[delta(char) for char in "<abc"], delta("! "), end()]
    assert texts_in(guard_chunks(script, quoted()).chunks) == ["<abc! "]


def test_what_is_certain_leaves_at_once() -> None:
    """Text in front of a candidate is not kept back with it."""
    script = [start(), delta("so <ab"), delta("c> and"), delta(" on"), end()]
    assert joined_text(given_before(script, 2, quoted())) == "so "
    assert joined_text(given_before(script, 3, quoted())) == "so [FOUND] and"
    assert joined_text(given_before(script, 4, quoted())) == "so [FOUND] and on"


def test_pieces_with_metadata_stay_apart() -> None:
    """Deltas with provider metadata are not joined, and keep what they carry."""
    script = [
        start(),
        delta("<a"),
        delta("b", providerMetadata={"p": {"n": 1}}),
        delta("c!"),
        delta("d"),
        end(),
    ]
    came = guard_chunks(script, quoted())
    deltas = [one for one in came.chunks if isinstance(one, TextDelta)]
    assert [one.payload.text for one in deltas] == ["<a", "b", "c!", "d"]
    assert [one.payload.provider_metadata for one in deltas] == [None, {"p": {"n": 1}}, None, None]


def test_a_delta_cut_in_two_keeps_its_metadata() -> None:
    """Of a delta that leaves in parts, the first carries what the whole carried."""
    meta = {"p": {"n": 1}}
    came = guard_chunks([start(), delta("so <abc", providerMetadata=meta), delta("> go"), end()], quoted())
    deltas = [one for one in came.chunks if isinstance(one, TextDelta)]
    assert deltas[0].payload.text == "so "
    assert [one.payload.provider_metadata for one in deltas] == [meta, None]
    assert joined_text(came.chunks) == "so [FOUND] go"


def test_an_edit_across_deltas_with_metadata() -> None:
    """A placeholder for the text of several deltas stands where the first was; the others keep the rest."""
    script = [start()]
    script += [delta(piece, providerMetadata={"p": {"n": n}}) for n, piece in enumerate(["a <", "b", "c> d"])]
    came = guard_chunks([*script, end()], quoted())
    assert texts_in(came.chunks) == ["a ", "[FOUND]", "", " d"]
    deltas = [one for one in came.chunks if isinstance(one, TextDelta)]
    assert [one.payload.provider_metadata for one in deltas] == [
        {"p": {"n": 0}},
        None,
        {"p": {"n": 1}},
        {"p": {"n": 2}},
    ]


def test_what_a_carried_delta_has_besides_leaves_once() -> None:
    """The same in a chunk that carries the delta."""
    inner = dump_chunk(delta("so <abc", providerMetadata={"p": {"n": 1}}))
    rest = dump_chunk(delta("> go"))
    script = [
        {"type": "tool-output", "payload": {"toolCallId": "c", "toolName": "t", "output": one}}
        for one in (inner, rest)
    ]
    came = guard_chunks(script, quoted())
    assert [dump_chunk(one)["payload"]["output"]["payload"] for one in came.chunks] == [
        {"id": "t", "text": "so ", "providerMetadata": {"p": {"n": 1}}},
        {"id": "t", "text": "[FOUND]"},
        {"id": "t", "text": " go"},
    ]


@pytest.mark.parametrize("surface", SURFACES)
def test_empty_deltas(surface: str) -> None:
    """An empty delta passes at once, or waits in its place, and is never in anybody's way."""
    empty = delta("", surface=surface)
    came = guard_chunks([start(surface=surface), empty, delta("ab", surface=surface)], quoted())
    assert came.chunks[1] is empty
    meta = delta("", surface=surface, providerMetadata={"p": {}})
    script = [delta("<a", surface=surface), meta, note(), empty, delta("! ", surface=surface)]
    came = guard_chunks([start(surface=surface), *script, end(surface=surface)], quoted())
    assert joined_text(came.chunks) == "<a! "
    assert [one.type for one in came.chunks if one is meta] == [meta.type]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_pair_of_surrogates_that_was_cut(surface: str) -> None:
    """The first half waits for the second, also across other chunks and empty deltas; they leave joined."""
    script = [delta("a" + HIGH, surface=surface), note(), delta("", surface=surface)]
    script += [delta(LOW + "b", surface=surface), end(surface=surface)]
    came = guard_chunks([start(surface=surface), *script], quoted())
    assert "".join(texts_in(came.chunks)) == "a\U0001f600b"
    assert came.result.status == "completed"


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    "text", [HIGH, "a" + HIGH, HIGH + "b", LOW, "a" + LOW + "b", HIGH + HIGH, LOW + HIGH], ids=ascii
)
@pytest.mark.parametrize("processor", [quoted(), words()], ids=["patterns", "detector"])
def test_half_a_pair_is_never_lost(surface: str, text: str, processor: Processor) -> None:
    """A half that is never completed passes as it came, cut anyhow."""
    for pieces in ([text], list(text), [text, ""], ["", *text, ""]):
        deltas = [delta(piece, surface=surface) for piece in pieces]
        came = guard_chunks([start(surface=surface), *deltas, end(surface=surface)], processor)
        assert "".join(texts_in(came.chunks)) == text


def test_half_a_pair_waits_when_its_text_ends_with_the_stream() -> None:
    """Without an end of its text, the end of the stream or of the step lets it go."""
    for last in ([], [chunk({"type": "step-finish", "payload": {}})]):
        came = guard_chunks([start(), delta("a" + HIGH), *last], quoted())
        assert "".join(texts_in(came.chunks)) == "a" + HIGH


def test_a_find_between_cut_pairs() -> None:
    """Offsets count whole characters, whatever was cut within one."""
    for size in (1, 2, 3):
        came = guard(cuts([size])("😀😀<a>😀"), quoted())
        assert came.result.text == "😀😀[FOUND]😀"
        assert [(found.start, found.end) for found in came.result.findings] == [(2, 5)]


# --- order


@pytest.mark.parametrize("between", [note(), delta("other", "u"), start("u"), delta("r", "t", "reasoning")])
def test_a_neutral_chunk_does_not_flush(between: Chunk) -> None:
    """What comes between two deltas of a text neither lets held text go nor overtakes it."""
    script = [start(), delta("a <b"), between, delta("c> d"), end()]
    assert joined_text(given_before(script, 3, quoted())) == "a "
    came = guard_chunks(script, quoted())
    where = came.chunks.index(between)
    assert joined_text(came.chunks[:where]) == "a [FOUND]"
    assert texts_in(came.chunks[where + 1 :])[-1] == " d"


def test_nothing_overtakes_held_text() -> None:
    """Every chunk leaves at its place among the texts, when what is before it is decided."""
    script = [start(), delta("<b"), *[note(number) for number in range(5)], delta("! "), note(5), end()]
    came = guard_chunks(script, quoted())
    assert [one for one in came.chunks if one.type == "data-note"] == [note(number) for number in range(6)]
    assert kinds(came) == [
        "text-start",
        "text-delta",
        *["data-note"] * 5,
        "text-delta",
        "data-note",
        "text-end",
    ]
    assert texts_in(came.chunks) == ["<b", "! "]


@pytest.mark.parametrize("backend", BACKENDS)
def test_interleaved_texts_are_guarded_apart(backend: str) -> None:
    """Each text is read by itself; halves of a find in two texts are none."""
    script = [start("a"), start("b"), delta("<x", "a"), delta("<y", "b"), delta("y>", "b"), delta("> ", "a")]
    script += [delta("x>", "b"), delta("<z", "a"), end("b"), delta("z>", "a"), end("a")]
    came = guard_chunks(script, quoted(), words(), backend=backend)
    assert came.result.text == "[FOUND] [FOUND][FOUND]x>"
    found = [(one.channel, one.start, one.end) for one in came.result.findings]
    assert found == [("a", 0, 3), ("b", 0, 4), ("a", 4, 8)]


def test_reasoning_and_text_with_one_id_are_two() -> None:
    """The id of a text belongs to its surface."""
    script = [start(), start(surface="reasoning"), delta("<a"), delta("<b", surface="reasoning")]
    script += [delta("b>", surface="reasoning"), end(surface="reasoning"), delta("a!"), end()]
    came = guard_chunks(script, quoted())
    assert came.result.text == "<aa!"
    assert came.result.reasoning == "[FOUND]"


def test_an_id_may_be_used_again_after_its_end() -> None:
    """A text that has ended does not grow: a new one with its id begins anew, offsets too."""
    script = [start(), delta("<a"), end(), start(), delta("a> <b>"), end()]
    came = guard_chunks(script, quoted())
    assert joined_text(came.chunks) == "<aa> [FOUND]"
    assert [(found.start, found.end) for found in came.result.findings] == [(3, 6)]


def test_text_after_its_end_and_without_a_start_is_guarded() -> None:
    """A delta whose text was never opened, or was closed, is guarded as any other."""
    script = [delta("<a", "x"), delta("a> ", "x"), end("x"), delta("<b", "x"), note(), delta("b> ", "x")]
    came = guard_chunks(script, quoted())
    assert joined_text(came.chunks) == "[FOUND] [FOUND] "
    assert kinds(came)[-1] == "text-delta"


@pytest.mark.parametrize("type_", ["text-end", "step-finish", None])
def test_what_ends_a_text(type_: str | None) -> None:
    """An end of the text, of the step and of the stream decide what is held; an end of another does not."""
    script = [start(), delta("a <b"), end("other"), end(surface="reasoning"), delta("c"), note()]
    closing = {"text-end": [end()], "step-finish": [chunk({"type": "step-finish", "payload": {}})], None: []}
    script += closing[type_]
    came = guard_chunks(script, quoted())
    assert joined_text(came.chunks) == "a <bc"
    assert joined_text(given_before([*script, note()], len(script) - len(closing[type_]), quoted())) == "a "
    if closing[type_]:
        assert joined_text(given_before([*script, note()], len(script), quoted())) == "a <bc"


def test_the_end_of_a_step_ends_every_text() -> None:
    """After a step's end the same id is another text."""
    script = [
        start(),
        delta("<a"),
        delta("<b", "u"),
        chunk({"type": "step-finish", "payload": {}}),
        delta("a>"),
    ]
    came = guard_chunks(script, quoted())
    assert joined_text(came.chunks) == "<a<ba>"
    assert came.result.findings == ()


# --- the ending


FRAME: Final = [
    chunk({"type": "start", "payload": {}}),
    chunk({"type": "step-start", "payload": {"messageId": "m1", "request": {}}}),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "processors", [[quoted("block")], [words(), quoted("block")], [quoted("block"), words()]]
)
def test_a_refusal_closes_what_is_open(processors: list[Processor], backend: str) -> None:
    """Every block that is open on the consumer's side is closed, then the tripwire, the step and the end."""
    script = [
        *FRAME,
        start("r", "reasoning"),
        start("a"),
        start("b"),
        delta("one. ", "a"),
        delta("two. ", "b"),
    ]
    script += [end("a"), delta("x. <ab> more", "b"), delta("never", "r", "reasoning"), end("b")]
    came = guard_chunks(script, *processors, backend=backend)
    assert kinds(came)[-5:] == ["reasoning-end", "text-end", "tripwire", "step-finish", "finish"]
    counts = Counter(kinds(came))
    assert counts["text-start"] == counts["text-end"] == 2
    assert counts["reasoning-start"] == counts["reasoning-end"] == 1
    assert came.result.text == "one. two. x. "
    assert came.result.reasoning == ""
    assert all(one.run_id == "run" and one.from_ == "AGENT" for one in came.chunks)


def test_a_block_that_the_consumer_never_saw_is_not_closed() -> None:
    """A block whose opening waits behind what is refused is neither opened nor closed."""
    script = [start("a"), delta("<a", "a"), start("b"), delta("text", "b"), delta("b>", "a")]
    came = guard_chunks(script, quoted("block"))
    assert kinds(came) == ["text-start", "text-end", "tripwire", "finish"]


def test_a_refusal_waits_for_earlier_text_of_other_ids() -> None:
    """A refusal takes effect at the front of the queue: what stands before it is decided by its future."""
    script = [start("a"), start("b"), delta("<one", "a"), delta("<two>! ", "b"), delta("more", "b")]
    came = guard_chunks([*script, delta("! ", "a"), end("a"), end("b")], quoted("block"))
    assert joined_text(came.chunks) == "<one"
    assert [found.channel for found in came.result.findings] == ["b"]
    came = guard_chunks([*script, delta("> ", "a"), end("a"), end("b")], quoted("block"))
    assert joined_text(came.chunks) == ""
    assert [found.channel for found in came.result.findings] == ["a"]


def test_a_later_processor_may_refuse_what_stands_before_a_refusal() -> None:
    """If a later step finds something in what is let out before a refusal, its tripwire counts."""
    script = [start(), delta("so bad <ab> more"), end()]
    for processors in ([quoted("block"), words("block")], [words("block"), quoted("block")]):
        came = guard_chunks(script, *processors)
        assert came.result.text == "so "
        assert came.result.tripwire is not None
        assert came.result.tripwire.payload.processor_id == "words"


def test_in_a_chain_what_stood_before_a_denied_word_leaves() -> None:
    """A chain is a chain: a denied word inside an address releases the beginning of the address."""
    deny = Patterns(id="deny", find="evil", strategy="block")
    mail = Patterns(id="mail", find=r"[a-z]{1,20}@[a-z]{1,20}\.org")
    assert guard("to jane@evil.org", deny, mail).result.text == "to jane@"
    assert guard("to jane@evil.org", Parallel(members=(deny, mail))).result.text == "to "


@pytest.mark.parametrize("size", [1, 2, 100])
def test_the_second_processor_sees_what_the_first_made(size: int) -> None:
    """Edits go on to the next processor, and its findings have offsets in the text as it reached it."""
    first = Patterns(id="first", find="aaa", strategy="remove")
    second = Patterns(id="second", find="xy")
    came = guard([*("xaaay " * 3)] if size == 1 else ["xaaay " * 3], first, second)
    assert came.result.text == "[FOUND] [FOUND] [FOUND] "
    seconds = [(found.start, found.end) for found in came.result.findings if found.processor_id == "second"]
    assert seconds == [(0, 2), (3, 5), (6, 8)]


def test_findings_are_in_the_order_of_the_stream() -> None:
    """Findings of a chain stand where they are in the stream, not when they were made."""
    slow_first = guard("bad <a> bad <b> ", words(), quoted())
    assert [found.processor_id for found in slow_first.result.findings] == ["words", "quoted"] * 2
    slow_last = guard("bad <a> bad <b> ", quoted(), words())
    assert [found.processor_id for found in slow_last.result.findings] == ["words", "quoted"] * 2


def test_what_a_delta_carries_beside_its_text_is_not_lost() -> None:
    """A delta whose text has left with an earlier piece, or was cut away, still brings its metadata."""
    metadata = {"provider": {"signature": "kept"}}
    source = [
        {"type": "text-delta", "payload": {"id": "t", "text": "mail jane@exa"}},
        {"type": "text-delta", "payload": {"id": "t", "text": "mple.com", "providerMetadata": metadata}},
        {"type": "text-delta", "payload": {"id": "t", "text": " ok"}},
    ]
    processor = Patterns(find=r"[a-z]+@[a-z]+\.com")

    async def read() -> list[dict[str, Any]]:
        async with Pipeline([processor]).stream(source) as chunks:
            return [dump_chunk(one)["payload"] async for one in chunks]

    payloads = anyio.run(read)
    assert "".join(payload["text"] for payload in payloads) == "mail [FOUND] ok"
    assert [payload["providerMetadata"] for payload in payloads if "providerMetadata" in payload] == [
        metadata
    ]


@pytest.mark.parametrize("beside", [{}, {"providerMetadata": {"provider": {"blob": "x" * 2_000}}}])
def test_empty_deltas_behind_held_text_are_bounded(beside: dict[str, Any]) -> None:
    """Deltas without text cost memory too, and so does what they carry."""
    held = {"type": "text-delta", "payload": {"id": "t", "text": "4111"}}
    empty = [
        {"type": "text-delta", "payload": {"id": str(number % 2), "text": "", **beside}}
        for number in range(40_000)
    ]
    processor = Patterns(find=r"\d{16}", max_hold=1_000, max_waiting=30_000)
    result = anyio.run(Pipeline([processor]).run, [held, *empty])
    assert result.tripwire is not None
    assert result.tripwire.payload.metadata["code"] == "limit.waiting"
