"""The contract as properties, each of which a pipeline of the processors under test must keep."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, TypeAlias

import anyio
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from guardrails.chunks import Chunk, TextDelta, dump_chunk, dump_json, parse_chunk
from guardrails.pipeline import Pipeline
from guardrails.processor import FAILED, Finding, Processor
from guardrails.release import Release
from guardrails.surfaces import SURFACES, Surface, whole_characters
from guardrails.testing.endings import unbalanced
from guardrails.testing.outcomes import Outcome, logged, outcome
from guardrails.testing.scripts import (
    CALLS,
    LANES,
    NESTED,
    NEUTRAL,
    Lane,
    Passage,
    Tape,
    Transcript,
    carriers,
    chunks_of,
    closings_after,
    cuttings,
    lane_of,
    passages,
    transcript,
    uncut,
)

Cut: TypeAlias = Callable[[str], list[str]]
BACKENDS: Final = ("asyncio", "trio")
_WORDS: Final = ("the ", "river ", "bends, ", "and ", "nobody ", "minds. ", "It ", "was ", "late\n")
_LONG_ENOUGH: Final = 4
"""Characters from which found text that appears elsewhere is no accident."""


@dataclass(frozen=True)
class Subject:
    """What is put to the test.

    Attributes:
        make: makes the processors of one pipeline.
        texts: texts in which they find things, nearly find things, and find nothing.
        finds: texts in each of which something must be found; without any, a processor that guards nothing
            keeps the contract too.
        most_held: characters of plain prose that may be held while more is read; a processor that decides
            by the sentence holds one.
        release: when what they accept leaves, see `Pipeline`.
        surfaces: where they look; less than everywhere for a processor that knows only some chunks.
    """

    make: Callable[[], Sequence[Processor]]
    texts: SearchStrategy[str]
    finds: Sequence[str] = ()
    most_held: int = 64
    release: Release = "stream"
    surfaces: Sequence[Surface] = SURFACES

    def pipeline(self) -> Pipeline:
        """A pipeline of new processors."""
        return Pipeline(self.make(), release=self.release)


async def _guarded(pipeline: Pipeline, tape: Tape) -> Outcome:
    """The outcome of a tape; a processor that fails on it keeps no property."""
    came = await outcome(pipeline, tape)
    metadata = came.result.tripwire.payload.metadata if came.result.tripwire else None
    failed = isinstance(metadata, dict) and metadata.get("code") == FAILED
    assert not failed, f"the processor failed, and the log says where: {metadata}"
    return came


async def what_is_looked_for_is_found(subject: Subject, data: st.DataObject) -> None:
    """What the subject must find is found, and leaves only where the strategy is to warn."""
    for text in subject.finds:
        script = chunks_of([(LANES[0], f"so {text} it is")], data.draw(cuttings))
        came = await _guarded(subject.pipeline(), Tape(script))
        assert came.result.findings, "nothing was found in a text of `Subject.finds`"
        if all(finding.strategy != "warn" for finding in came.result.findings):
            assert text not in came.result.text, "a text of `Subject.finds` left as it came"


async def every_surface_is_looked_at(subject: Subject, data: st.DataObject) -> None:
    """Rule 7: what is found in a text is found wherever it stands, also where a chunk carries another one."""
    if not subject.finds:
        return
    text = data.draw(st.sampled_from(subject.finds))
    said = f"so {text} it is"
    bodies = carriers(said)
    parts: list[Passage] = [bodies[surface] for surface in subject.surfaces if surface in bodies]
    if "tool_args" in subject.surfaces:
        parts += [(CALLS[0], said), (NESTED, said)]
    if not parts:
        return  # it knows text alone
    part = data.draw(st.sampled_from(parts))
    came = await _guarded(subject.pipeline(), Tape(chunks_of([part], data.draw(cuttings))))
    assert came.result.findings, f"nothing was found in {part!r}"
    if all(finding.strategy != "warn" for finding in came.result.findings):
        told = [dump_json(chunk) for chunk in came.chunks]
        assert not any(text in one for one in told), "a text of `Subject.finds` left as it came"


async def copies_are_hidden(subject: Subject, data: st.DataObject) -> None:
    """Rule 8: in copies of what was said, what is found is hidden; it refuses nothing and is not told."""
    for text in subject.finds if len(subject.surfaces) > 2 else ():  # noqa: PLR2004 - those for text alone
        said = f"so {text} it is"
        script = chunks_of([(LANES[0], "so it is")], data.draw(cuttings))
        payload = {"stepResult": {"reason": "stop"}, "output": {"text": said}, "messages": {"all": [said]}}
        copies = [parse_chunk({"type": kind, "payload": payload}) for kind in ("step-finish", "finish")]
        asked = parse_chunk({"type": "step-start", "payload": {"request": {"body": said}}})
        came = await _guarded(subject.pipeline(), Tape([asked, *script[1:-2], *copies]))
        assert came.result.status == "completed", "a copy was refused"
        assert not came.result.findings, "what was found in a copy was told"
        if not _warns(subject):
            assert not any(text in dump_json(chunk) for chunk in came.chunks), "a copy left as it came"


async def cutting_does_not_matter(subject: Subject, data: st.DataObject) -> None:
    """Rule 2: cut anyhow, the same is read, found and refused."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    pipeline = subject.pipeline()
    whole = await _guarded(pipeline, Tape(chunks_of(parts, uncut)))
    pieces = await _guarded(pipeline, Tape(chunks_of(parts, cut)))
    assert pieces.comparable == whole.comparable, (
        f"cut, the consumer read {pieces.told}; uncut, it read {whole.told}"
    )


async def nothing_leaves_undecided(subject: Subject, data: st.DataObject) -> None:
    """Rule 1: what has left before the future is known fits every future, whatever comes between."""
    text, other = data.draw(subject.texts), data.draw(subject.texts)
    cut, place = data.draw(cuttings), data.draw(st.integers(0, len(text)))
    pipeline = subject.pipeline()
    tape = Tape(chunks_of([(LANES[0], text[:place]), NEUTRAL[0], (LANES[0], other)], cut))
    known = tape.chunks.index(parse_chunk(NEUTRAL[0]))
    await _guarded(pipeline, tape)
    before = _text_of(tape.received[: tape.marks[known + 1]]) if len(tape.marks) > known + 1 else ""
    future = await _guarded(pipeline, Tape(chunks_of([(LANES[0], text)], uncut)))
    assert _text_of(future.chunks).startswith(before), (
        f"{before!r} had left before it was known that the text would become {_text_of(future.chunks)!r}"
    )


async def clean_text_passes(subject: Subject, data: st.DataObject) -> None:
    """Rule 3: where nothing is found, everything arrives as it was, in order."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    tape = Tape(chunks_of(parts, cut))
    came = await _guarded(subject.pipeline(), tape)
    if any(finding.strategy != "warn" for finding in came.result.findings):
        assume(came.result.status == "completed")
        given, got = (
            [one for one in chunks if lane_of(one) is None] for chunks in (tape.chunks, came.chunks)
        )
        assert [chunk.type for chunk in got] == [chunk.type for chunk in given]
        neutral = [parse_chunk(body) for body in NEUTRAL]
        assert all(new == old for old, new in zip(given, got, strict=True) if old in neutral)
        return
    assert came.result.status == "completed"
    assert came.read == transcript(chunks_of(parts, uncut))


async def the_rest_leaves_at_once(subject: Subject, data: st.DataObject) -> None:
    """The other half of the promise: plain prose is held only as far as it could still become a match."""
    words, cut = data.draw(st.lists(st.sampled_from(_WORDS), min_size=40, max_size=60)), data.draw(cuttings)
    pipeline = subject.pipeline()
    if subject.release == "step":
        return  # all of it waits
    if any(processor.waits for processor in pipeline.processors):
        return  # how far an answer lags behind is a matter of time
    tape = Tape(chunks_of([(LANES[0], "".join(words))], cut))
    await _guarded(pipeline, tape)
    given, got = _characters(tape.chunks), _characters(tape.received)
    for taken, received in enumerate(tape.marks):
        held = given[taken] - got[received]
        assert held <= subject.most_held, f"{held} characters of plain prose were held"


async def endings_are_whole(subject: Subject, data: st.DataObject) -> None:
    """Rule 5: a refusal closes what is open, says so once and ends the stream; otherwise nothing is added."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    came = await _guarded(subject.pipeline(), Tape(chunks_of(parts, cut)))
    blocked, faults = came.result.status == "blocked", unbalanced(came.chunks)
    assert not faults, "; ".join(faults)
    kinds = [chunk.type for chunk in came.chunks]
    assert kinds.count("tripwire") == blocked
    assert kinds.count("finish") == 1
    assert kinds[-1] == "finish"
    assert not blocked or came.result.finish_reason == "tripwire"


async def a_refused_step_stays_unseen(subject: Subject, data: st.DataObject) -> None:
    """Rule 6: held until it has ended, a step reads as it does otherwise, and a refused one is not seen."""
    script = chunks_of(data.draw(passages(subject.texts)), data.draw(cuttings))
    at_once = await _guarded(Pipeline(subject.make()), Tape(script))
    held = await _guarded(Pipeline(subject.make(), release="step"), Tape(script))
    assert held.result.findings == at_once.result.findings
    assert held.result.status == at_once.result.status
    if held.result.status == "completed":
        assert held.read == at_once.read
        return
    kinds = [chunk.type for chunk in held.chunks]
    before = kinds[: kinds.index("tripwire")]
    assert "step-finish" in before or set(before) <= {"start"}, f"of a refused step, {before} was seen"


async def found_text_stays_secret(subject: Subject, data: st.DataObject) -> None:
    """Rule 1: what was found is in no tripwire, finding or log line."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    with logged() as lines:
        came = await _guarded(subject.pipeline(), Tape(chunks_of(parts, cut)))
    tripwire = came.result.tripwire
    told = "\n".join([*lines, repr(came.result.findings), repr(tripwire and dump_chunk(tripwire))])
    for finding in came.result.findings:
        text = _found_text(parts, finding)
        assert len(text) < _LONG_ENOUGH or text not in told, (
            "found text is in a tripwire, finding or log line"
        )


async def a_broken_source_loses_nothing(subject: Subject, data: st.DataObject) -> None:
    """Rule 4: held text is decided as if it ended there; then the source's exception is raised."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    script = chunks_of(parts, cut)
    place = data.draw(st.integers(0, len(script) - 1))
    pipeline = subject.pipeline()
    broken = await _guarded(pipeline, Tape(script, fails_at=place))
    ended = await _guarded(pipeline, Tape([*script[:place], *closings_after(script, place)]))
    for lane in (*LANES, NESTED):
        assert _lane_of(broken.read, lane) == _lane_of(ended.read, lane)
    assert broken.result.findings == ended.result.findings
    assert broken.result.status == ("blocked" if ended.result.status == "blocked" else "error")


async def leaving_closes_the_source(subject: Subject, data: st.DataObject) -> None:
    """Rule 11: whoever leaves early leaves nothing behind."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    tape = Tape(chunks_of(parts, cut))
    wanted = data.draw(st.integers(1, len(tape.chunks)))
    async with subject.pipeline().stream(tape.play()) as chunks:
        async for chunk in chunks:
            tape.received.append(chunk)
            if len(tape.received) >= wanted:
                break
    assert tape.closed == 1
    assert chunks.result.status in ("cancelled", "completed", "blocked")


async def texts_do_not_mix(subject: Subject, data: st.DataObject) -> None:
    """Each text is guarded by itself: with others around it, it leaves as it does alone."""
    parts, cut = data.draw(passages(subject.texts)), data.draw(cuttings)
    pipeline = subject.pipeline()
    mixed = await _guarded(pipeline, Tape(chunks_of(parts, cut)))
    assume(mixed.result.status == "completed")
    for lane in (*LANES, *CALLS, NESTED):
        alone = [part for part in parts if isinstance(part, dict) or part[0] == lane]
        single = await _guarded(pipeline, Tape(chunks_of(alone, uncut)))
        assert _lane_of(single.read, lane) == _lane_of(mixed.read, lane)


async def streams_do_not_mix(subject: Subject, data: st.DataObject) -> None:
    """State is born with a stream: streams side by side do what each does alone, and so does a later one."""
    scripts = [chunks_of(data.draw(passages(subject.texts)), data.draw(cuttings)) for _ in range(2)]
    pipeline = subject.pipeline()
    alone = [await _guarded(subject.pipeline(), Tape(script)) for script in scripts]
    together: dict[int, Outcome] = {}

    async def guard(place: int) -> None:
        together[place] = await _guarded(pipeline, Tape(scripts[place]))

    async with anyio.create_task_group() as tasks:
        for place in range(len(scripts)):
            tasks.start_soon(guard, place)
    assert [together[place].comparable for place in sorted(together)] == [one.comparable for one in alone]


Property: TypeAlias = Callable[[Subject, st.DataObject], Awaitable[None]]

CONTRACT: Final[Mapping[str, Property]] = {
    check.__name__: check
    for check in (
        what_is_looked_for_is_found,
        every_surface_is_looked_at,
        copies_are_hidden,
        cutting_does_not_matter,
        nothing_leaves_undecided,
        clean_text_passes,
        the_rest_leaves_at_once,
        endings_are_whole,
        a_refused_step_stays_unseen,
        found_text_stays_secret,
        a_broken_source_loses_nothing,
        leaving_closes_the_source,
        texts_do_not_mix,
        streams_do_not_mix,
    )
}
"""The properties by name."""


def check(  # noqa: PLR0913 - each has a default that is right for most
    name: str,
    subject: Subject,
    *,
    backend: str = "asyncio",
    examples: int = 200,
    shrink: bool = True,
    derandomize: bool = False,
) -> None:
    """Put a subject to one property of the contract.

    Args:
        name: a key of `CONTRACT`.
        subject: what is tested.
        backend: `asyncio` or `trio`.
        examples: how many random scripts to try.
        shrink: whether a failing script is made small first.
        derandomize: whether to try the same scripts each time.

    Raises:
        AssertionError: the property does not hold; hypothesis prints the smallest script that shows it.
    """
    prop = CONTRACT[name]

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in Phase if shrink or phase is not Phase.shrink],
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        anyio.run(prop, subject, data, backend=backend)

    run()


def _lane_of(read: Transcript, lane: Lane) -> list[Any]:
    return [entry for entry in read if isinstance(entry, tuple) and entry[:2] == lane]


def _text_of(chunks: Sequence[Chunk]) -> str:
    return whole_characters("".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDelta)))


def _characters(chunks: Sequence[Chunk]) -> list[int]:
    """How many characters of text the first 0, 1, 2, … chunks have together."""
    sizes = (len(chunk.payload.text) if isinstance(chunk, TextDelta) else 0 for chunk in chunks)
    return [0, *accumulate(sizes)]


def _warns(subject: Subject) -> bool:
    """Whether the processors let pass what they find."""
    parts = [part for processor in subject.make() for part in processor.parts]
    return all(getattr(part, "strategy", "warn") == "warn" for part in parts)


def _found_text(parts: Sequence[Passage], finding: Finding) -> str:
    """The found text as it came in; offsets of chained processors refer to edited text and may miss it."""
    lane = (finding.surface, finding.channel.partition(":")[0])
    text = "".join(part[1] for part in parts if isinstance(part, tuple) and part[0] == lane)
    return text[finding.start : finding.end]
