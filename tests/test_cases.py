"""Cases: what goes in and must come out, each expectation met and failed, in every cutting."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from guardrails import Chunk, Finding, Pipeline, dump_chunk, parse_chunk
from guardrails.cases import Case, ExpectedFinding, Outcome, cuttings, run_case
from guardrails.chunks import TextDelta
from guardrails.config import load_config
from guardrails.surfaces import DELTAS
from guardrails.testing import Patterns
from guardrails.testing.broken import (
    EachDeltaAlone,
    FixedWindow,
    OffsetsInTheDelta,
    OneBufferForAllIds,
    Sound,
)
from tests.helpers import does

PIPELINE: Final = Pipeline(
    [
        Patterns(id="hide", find=r"secret-\d{6}"),
        Patterns(id="stop", find="bomb", strategy="block", retry=True),
    ],
    input_processors=[Patterns(id="ask", find="secret")],
)
HIDDEN: Final = {"text": "a [FOUND] b", "findings": ["test.found"], "absent": ["secret", "123456"]}
STREAM: Final = [
    {"type": "start", "payload": {}},
    {"type": "text-delta", "payload": {"id": "1", "text": "a secr"}},
    {"type": "data-note", "data": {"text": "b//c", "n": [{"a key": 1}]}},
    {"type": "text-delta", "payload": {"id": "1", "text": "et-123456 b"}},
    {"type": "finish", "payload": {"stepResult": {"reason": "stop"}}},
]


CALL: Final = [
    {"type": "tool-call-delta", "payload": {"toolCallId": id_, "argsTextDelta": piece}}
    for id_, piece in (("1", '{"a": "41'), ("2", '{"a"'), ("1", '11"}'))
]
NUMBERS: Final = [{"type": "data-note", "data": {"a": [4111]}}]


def case(expect: Mapping[str, Any], **given: Any) -> Case:
    """A case."""
    return Case.model_validate({"name": "a case", "expect": expect, **given})


@pytest.mark.parametrize(
    ("given", "expect"),
    [
        ({"text": "a secret-123456 b"}, HIDDEN),
        ({"text": ["a sec", "ret-1234", "56 b"]}, HIDDEN),
        ({"text": "clean"}, {"text": "clean", "reasoning": "", "tripwire": None, "findings": []}),
        ({"text": ""}, {"text": ""}),
        ({"text": "a bomb"}, {"tripwire": {}, "absent": ["case", "AGENT", "text-", "payload"]}),
        ({"reasoning": "a secret-123456 b"}, {"reasoning": "a [FOUND] b", "text": ""}),
        ({"reasoning": ["a secret", "-123456 b"]}, {"reasoning": "a [FOUND] b"}),
        ({"chunks": STREAM}, HIDDEN),
        ({"input": "a secret"}, {"text": "a [FOUND]", "findings": [{"processor": "ask"}]}),
        ({"input": ["a bo", "mb"]}, {"text": "a bomb"}),
        ({"text": "a bomb b"}, {"tripwire": {}}),
        ({"text": "a bomb b"}, {"text": "a ", "tripwire": {"processor": "stop"}, "absent": ["bomb"]}),
        ({"text": "a bomb b"}, {"tripwire": {"processor": "stop", "code": "test.found", "retry": True}}),
        (
            {"text": "secret-123456 bomb"},
            {"findings": ["test.found", {"processor": "stop", "strategy": "block"}], "tripwire": {}},
        ),
        (
            {"text": "secret-123456"},
            {
                "findings": [
                    {"code": "test.found", "label": "FOUND", "processor": "hide", "strategy": "redact"}
                ]
            },
        ),
    ],
)
async def test_a_case_that_is_right_passes(given: dict[str, Any], expect: dict[str, Any]) -> None:
    """Each kind of input, whole and in pieces, with each expectation met."""
    assert await run_case(PIPELINE, case(expect, **given)) == Outcome("a case")


@pytest.mark.parametrize(
    ("given", "expect", "failures"),
    [
        ({"text": "a"}, {"text": "b"}, ["the text is 'a', expected 'b'"]),
        ({"text": "a"}, {"reasoning": "a"}, ["the reasoning is '', expected 'a'"]),
        ({"reasoning": "a"}, {"reasoning": "", "text": "a"}, [
            "the text is '', expected 'a'",
            "the reasoning is 'a', expected ''",
        ]),
        ({"text": "a"}, {"tripwire": {}}, ["nothing was blocked, expected a tripwire"]),
        ({"text": "bomb"}, {"text": ""}, ["blocked, expected no tripwire: stop found FOUND in the text."]),
        ({"text": "bomb"}, {"tripwire": None}, [
            "blocked, expected no tripwire: stop found FOUND in the text.",
        ]),
        ({"text": "bomb"}, {"tripwire": {"processor": "hide"}}, [
            "the tripwire's processor is stop, expected hide",
        ]),
        ({"text": "bomb"}, {"tripwire": {"code": "x", "retry": False, "processor": "y"}}, [
            "the tripwire's processor is stop, expected y",
            "the tripwire's code is test.found, expected x",
            "the tripwire's retry is true, expected false",
        ]),
        ({"text": "a"}, {"findings": ["test.found"]}, ["the findings are none, expected test.found"]),
        ({"text": "secret-123456"}, {"findings": []}, ["the findings are test.found, expected none"]),
        ({"text": "secret-123456"}, {"findings": ["test.found", "test.found"]}, [
            "the findings are test.found, expected test.found, test.found",
        ]),
        ({"text": "secret-123456"}, {"findings": [{"strategy": "mask", "label": "FOUND"}]}, [
            "the findings are test.found, expected FOUND mask",
        ]),
        ({"text": "secret-123456"}, {"absent": ["zebra", "FOUND", "OUN"]}, [
            "'FOUND' must not come out, and did",
            "'OUN' must not come out, and did",
        ]),
        ({"text": ["a", "b"]}, {"absent": ["ab"]}, ["'ab' must not come out, and did"]),
        ({"chunks": STREAM}, {"absent": ["b//c"]}, ["'b//c' must not come out, and did"]),
        ({"chunks": STREAM}, {"absent": ["a key"]}, ["'a key' must not come out, and did"]),
        ({"chunks": CALL}, {"absent": ["4111"]}, ["'4111' must not come out, and did"]),
        ({"chunks": NUMBERS}, {"absent": ["4111"]}, ["'4111' must not come out, and did"]),
        ({"text": "bomb"}, {"tripwire": {}, "absent": ["FOUND in the text"]}, [
            "'FOUND in the text' must not come out, and did",
        ]),
        ({"input": "secret"}, {"text": "secret"}, ["the text is '[FOUND]', expected 'secret'"]),
    ],
)  # fmt: skip
async def test_a_case_that_is_wrong_fails(
    given: dict[str, Any], expect: dict[str, Any], failures: list[str]
) -> None:
    """Each expectation that is not met has its sentence; what is already wrong as given is told of that."""
    outcome = await run_case(PIPELINE, case(expect, **given))
    assert outcome == Outcome("a case", tuple(failures), "as given")


async def test_a_tripwire_of_the_source_counts() -> None:
    """A tripwire that came with the source is one, whatever its metadata is."""
    payload = {"reason": "enough", "metadata": {"code": ["a", {}]}, "processorId": "far"}
    stream = [{"type": "tripwire", "payload": payload}]
    assert (await run_case(PIPELINE, case({"tripwire": {"processor": "far"}}, chunks=stream))).failures == ()
    outcome = await run_case(PIPELINE, case({"tripwire": {"code": "a"}}, chunks=stream))
    assert outcome.failures == ("the tripwire's code is ['a', {}], expected a",)


async def test_a_processor_that_fails_is_told() -> None:
    """A processor that raises blocks, and the case says so."""

    def fail(_run: object, _item: object) -> None:
        raise OSError("no such model")

    outcome = await run_case(Pipeline([does(fail, "bad")]), case({"text": "a"}, text="a"))
    assert outcome.failures == (
        "the text is '', expected 'a'",
        "blocked, expected no tripwire: bad failed (OSError).",
    )


SECRET: Final = "a secret-123456 and so on"
GUARDED: Final = {"text": "a [SECRET] and so on", "findings": ["test.secret"]}


@pytest.mark.parametrize(
    ("kind", "expect", "cutting"),
    [
        (EachDeltaAlone, {"text": GUARDED["text"]}, "1 character at a time"),
        (FixedWindow, GUARDED, "1 character at a time"),
        (Sound, GUARDED, ""),
        (OffsetsInTheDelta, GUARDED, ""),
    ],
)
async def test_a_case_shows_that_the_cutting_matters(
    kind: type[Sound], expect: dict[str, Any], cutting: str
) -> None:
    """A processor that is right only for whole texts fails in some cutting, and the case names which."""
    outcome = await run_case(Pipeline([kind()]), case(expect, text=SECRET))
    assert outcome.cutting == cutting
    assert bool(outcome.failures) is bool(cutting)


async def test_a_case_in_pieces_is_joined_too() -> None:
    """A processor that finds only what is cut in a certain way fails where the text is uncut."""

    def step(_run: object, item: Any) -> list[Any]:
        return [] if type(item) in DELTAS and item.payload.text == "bad" else [item]

    outcome = await run_case(Pipeline([does(step)]), case({"text": "a b"}, text=["a ", "bad", "b"]))
    assert (outcome.cutting, outcome.failures) == ("uncut", ("the text is 'a badb', expected 'a b'",))


async def test_streams_of_several_texts_are_cut_too() -> None:
    """Texts that take turns show a processor that mixes them up."""
    stream = [
        {"type": "text-delta", "payload": {"id": id_, "text": text}}
        for id_, text in (("1", "a secr"), ("2", "plain secret-"), ("1", "et-123456 "), ("2", "123456"))
    ]
    told = case({"text": "a [SECRET] plain [SECRET]"}, chunks=stream)
    assert (await run_case(Pipeline([Sound()]), told)).failures == ()
    assert (await run_case(Pipeline([OneBufferForAllIds()]), told)).failures != ()


def chunks(*bodies: dict[str, Any]) -> list[Chunk]:
    """Chunks of JSON."""
    return [parse_chunk(body) for body in bodies]


def delta(kind: str, id_: str, text: str, **more: Any) -> dict[str, Any]:
    """A piece of text."""
    return {"type": f"{kind}-delta", "payload": {"id": id_, "text": text, **more}}


MIXED: Final = chunks(
    {"type": "start", "runId": "r", "from": "AGENT", "payload": {}},
    delta("text", "1", "Grüße, "),
    delta("text", "1", "👍🏽 and so on"),
    delta("reasoning", "1", "hm, "),
    delta("text", "2", "another"),
    delta("text", "1", "", providerMetadata={"p": {"n": 0}}),
    delta("text", "1", "with metadata", providerMetadata={"p": {"n": 1}}),
    {"type": "data-note", "data": {"text": "left alone"}},
    delta("text", "1", " and an end"),
    {"type": "text-end", "payload": {"id": "1"}},
)


def transcript(stream: Iterable[Chunk]) -> list[Any]:
    """What a stream says: each character with what its delta says beside it, other chunks as JSON."""
    said: list[Any] = []
    for chunk in stream:
        dumped = dump_chunk(chunk)
        if type(chunk) in DELTAS:
            text = dumped["payload"].pop("text")
            said += [(json.dumps(dumped, sort_keys=True), char) for char in text]
        else:
            said.append(dumped)
    return said


def test_cuttings_say_the_same() -> None:
    """In each cutting the same characters of the same texts and the same other chunks, in their order."""
    ways = list(cuttings(MIXED))
    assert len({name for name, _ in ways}) == 7
    assert len(ways) == 9
    for _, stream in ways:
        assert transcript(stream) == transcript(MIXED)


def test_cuttings_are_what_their_names_say() -> None:
    """As given is the stream itself; uncut has each stretch of a text once; the others have pieces."""
    texts = {
        name: [chunk.payload.text for chunk in stream if isinstance(chunk, TextDelta)]
        for name, stream in cuttings(MIXED)
    }
    assert dict(cuttings(MIXED))["as given"] is MIXED
    assert texts["uncut"] == ["Grüße, 👍🏽 and so on", "another", "with metadata", " and an end"]
    for size, name in enumerate(
        ["1 character at a time", "2 characters at a time", "3 characters at a time"], 1
    ):
        lengths = [len(text) for text in texts[name]]
        assert max(lengths) == size
        assert lengths.count(size) > len(lengths) // 2
    assert 1 < max(map(len, texts["at random places"])) <= 12


def test_cuttings_are_the_same_each_time() -> None:
    """A case that fails at random places does so whenever it is run."""
    once, again = list(cuttings(MIXED)), list(cuttings(MIXED))
    assert [(name, list(stream)) for name, stream in once] == [(name, list(stream)) for name, stream in again]


@pytest.mark.parametrize("surface", ["text", "reasoning"])
def test_a_text_becomes_a_stream(surface: str) -> None:
    """A text in pieces is a block with a delta for each."""
    stream = case({"text": ""}, **{surface: ["a", "", "b"]}).stream
    assert [chunk.type for chunk in stream] == [
        f"{surface}-start",
        f"{surface}-delta",
        f"{surface}-delta",
        f"{surface}-delta",
        f"{surface}-end",
    ]


def test_an_expected_finding_fits_what_it_says() -> None:
    """What is left out, or null, may be anything; it is written as what is said of it, in the same order."""
    finding = Finding("pii.email", "EMAIL", 1.0, 0, 1, "text", "1", "guard", "mask")
    for fitting in ({"code": "pii.email"}, {"strategy": "mask", "processor": "guard"}, {"label": None}):
        assert ExpectedFinding.model_validate(fitting).fits(finding)
    for other in ({"code": "pii.phone"}, {"code": "pii.email", "label": "PHONE"}, {"processor": "x"}):
        assert not ExpectedFinding.model_validate(other).fits(finding)
    said = ExpectedFinding(strategy="mask", processor="p", label="L", code="c")
    assert (str(said), str(ExpectedFinding(label=None))) == ("c L p mask", "any")


async def test_the_cases_of_a_file_are_run(tmp_path: Path) -> None:
    """A file of chunks is relative to the configuration; chunks written in it are taken as they are."""
    (tmp_path / "streams").mkdir()
    lines = [json.dumps(chunk) for chunk in STREAM]
    (tmp_path / "streams" / "one.jsonl").write_text("\n\n".join(lines))
    (tmp_path / "guard.yaml").write_text(
        "version: 1\n"
        "input_processors: [{type: regex, id: ask, rules: [{name: word, pattern: bad}]}]\n"
        "output_processors: [{type: regex, rules: [{name: key, pattern: 'secret-[0-9]{6}'}]}]\n"
        "tests:\n"
        "  - {name: file, chunks: streams/one.jsonl, expect: {text: 'a [KEY] b', findings: [regex.key]}}\n"
        "  - name: inline\n"
        "    chunks:\n"
        "      - {type: text-delta, payload: {id: '1', text: 'a//b/../secret-'}}\n"
        "      - {type: data-note, data: {path: ./c//d}}\n"
        "      - {type: text-delta, payload: {id: '1', text: '123456'}}\n"
        "    expect: {text: 'a//b/../[KEY]', absent: ['123456']}\n"
        "  - {name: input, input: [b, ad], expect: {text: '[WORD]', findings: [{processor: ask}]}}\n"
        "  - {name: wrong, text: secret-12345, expect: {text: '[KEY]'}}\n"
    )
    config = load_config(tmp_path / "guard.yaml")
    outcomes = [await run_case(config.pipeline, each) for each in config.cases]
    assert [outcome.failures for outcome in outcomes] == [
        (),
        (),
        (),
        ("the text is 'secret-12345', expected '[KEY]'",),
    ]
    assert dump_chunk(config.cases[1].stream[1])["data"] == {"path": "./c//d"}


@pytest.mark.parametrize(
    "expect", [{"text": None}, {"findings": None, "reasoning": None}, {"absent": []}, {}]
)
def test_a_case_that_expects_nothing_is_refused(expect: dict[str, Any]) -> None:
    """What says nothing alone does no harm beside what does; `tripwire: null` says that there is none."""
    with pytest.raises(ValueError, match="say at least one thing that is expected"):
        case(expect, text="a")
    case({**expect, "tripwire": None}, text="a")
    case({**expect, "text": ""}, text="a")


def test_a_file_of_chunks_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """It is no part of the first chunk."""
    (tmp_path / "one.jsonl").write_text('\ufeff{"type": "start"}', encoding="utf-8")
    assert [chunk.type for chunk in case({"text": ""}, chunks=tmp_path / "one.jsonl").stream] == ["start"]


def test_a_file_of_chunks_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is larger than what is read is refused, and not read to its end."""
    monkeypatch.setattr("guardrails.cases.MOST_BYTES", 10)
    (tmp_path / "one.jsonl").write_text('{"type": "start"}')
    with pytest.raises(ValueError, match="the file is larger than 10 bytes"):
        case({"text": ""}, chunks=tmp_path / "one.jsonl")
