"""From the words of the cases to a pipeline: our own configuration, and test doubles for the rest."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from guardrails import Parallel, Pipeline, Processor, TextProcessor, load_pipeline
from processors._patterns import PRESETS
from tests.cases.doubles import (
    Ask,
    Asking,
    Scrub,
    ToolPolicy,
    World,
    counted,
    raising,
    scoring,
    searching,
    stubborn,
    working,
)
from tests.cases.reading import Json, UnknownKeyError, known

Build: TypeAlias = Callable[[Json, World], Pipeline]
"""Makes the pipeline of a case.

Raises:
    ValueError, ConfigError: the configuration is not right.
"""

PRIVATE: Final = PRESETS["private-data"]
LABELS: Final = frozenset(pattern.label for pattern in PRIVATE)

_WHOLE_TEXT: Final = 1000
"""Characters that a rule for a whole text may look at; the texts of cases are shorter."""

_AS_THEY_ARE: Final = frozenset({"id", "strategy", "surfaces", "retry", "key_env"})
_SHARED: Final = _AS_THEY_ARE | {"use", "on_error", "timeout_ms"}
_DEFAULT_PLACEHOLDER: Final = "[{entity}]"
_PASSES: Final = {"allow": "pass", "pass": "pass", "block": "block"}


def translated(config: Json, world: World) -> Pipeline:
    """The pipeline that a case configures.

    Raises:
        UnknownKeyError: the case says something that is not translated.
        ValueError, ConfigError: the configuration is not right.
    """
    known("config", config, {"processors", "parallel", "release", "mapping"})
    if "mapping" in config:  # already in our own words
        return load_pipeline(config["mapping"])
    entries: Sequence[Json] = config["processors"]
    settings = {"release": config["release"]} if "release" in config else {}
    if all(_is_mapped(entry) for entry in entries):
        items: Sequence[Any] = [mapping_of(entry) for entry in entries]
        group = [{"parallel": items}] if config.get("parallel") else items
        return _loaded(group, **settings)
    return Pipeline(grouped(config, [processor_of(entry, world) for entry in entries]), **settings)


def grouped(config: Json, processors: Sequence[Processor]) -> Sequence[Processor]:
    """The processors of a case side by side, if it says so."""
    members = tuple(one for one in processors if isinstance(one, TextProcessor))
    return [Parallel(members=members)] if config.get("parallel") else processors


def processor_of(entry: Json, world: World) -> Processor:
    """One processor of a case."""
    if not _is_mapped(entry):
        return _DOUBLES[_use_of(entry)](entry, world)
    return _loaded([mapping_of(entry)]).processors[0]


def mapping_of(entry: Json) -> Json:
    """An entry in our own words."""
    return _MAPPINGS[_use_of(entry)](entry)


def _use_of(entry: Json) -> str:
    use: str = entry["use"]
    known("use", [use], {*_MAPPINGS, *_DOUBLES})
    return use


def _is_mapped(entry: Json) -> bool:
    """Whether our own configuration can say it; otherwise a double is made."""
    if _use_of(entry) == "toxicity":
        return "stub_load_raises" in entry["scorer"]
    stubbed = "detector" in entry or entry.get("cadence") == "sentence"
    return entry["use"] in _MAPPINGS and not stubbed


def _loaded(items: Sequence[Any], **settings: Any) -> Pipeline:
    """The pipeline of a configuration, which may name the double that loads a model."""
    with patch("guardrails.registry.entry_points", _with_double):
        return load_pipeline({"version": 1, "output_processors": items, **settings})


def _with_double(*, group: str) -> EntryPoints:
    double = EntryPoint("stub_toxicity", "tests.cases.doubles:StubToxicity", group)
    return EntryPoints([*entry_points(group=group), double])


# --- in our own words


def _shared(entry: Json) -> dict[str, Any]:
    """The settings that all text processors share."""
    settings = {key: value for key, value in entry.items() if key in _AS_THEY_ARE}
    if "on_error" in entry:
        settings["on_error"] = _PASSES[entry["on_error"]]
    if "timeout_ms" in entry:
        settings["timeout"] = entry["timeout_ms"] / 1000
    return settings


def _pii(entry: Json) -> Json:
    """Entities that the preset does not know are asked for by name, as presets are."""
    known("pii", entry, {*_SHARED, "entities", "replacement", "language", "cadence"})
    _must_be("replacement", entry.get("replacement", _DEFAULT_PLACEHOLDER), _DEFAULT_PLACEHOLDER)
    _must_be("language", entry.get("language", "en"), "en")
    _must_be("cadence", entry.get("cadence", "word"), "word")
    unknown = [entity for entity in entry["entities"] if entity not in LABELS]
    return {"type": "regex", "presets": ["private-data", *unknown], **_shared(entry)}


def _regex(entry: Json) -> Json:
    known("regex", entry, {*_SHARED, "rules", "scope"})
    _must_be("scope", entry.get("scope", "whole_text"), "whole_text")
    more = {"max_length": _WHOLE_TEXT} if "scope" in entry else {}
    return {"type": "regex", "rules": [{**rule, **more} for rule in entry["rules"]], **_shared(entry)}


def _keywords(entry: Json) -> Json:
    """A placeholder is the label in brackets, whichever term is found."""
    known("keywords", entry, {*_SHARED, "terms", "match", "replacement"})
    match = {"whole_word": "word", "whole_phrase": "word", "substring": "substring"}[
        entry.get("match", "whole_word")
    ]
    label = {"label": entry["replacement"][1:-1]} if "replacement" in entry else {}
    return {"type": "keywords", "terms": entry["terms"], "match": match, **label, **_shared(entry)}


def _loading(entry: Json) -> Json:
    known("toxicity", entry, {*_SHARED, "model", "scorer"})
    known("scorer", entry["scorer"], {"stub_load_raises"})
    load = {"model": entry["model"], "load_raises": entry["scorer"]["stub_load_raises"]}
    return {"type": "stub_toxicity", **load, **_shared(entry)}


def _must_be(what: str, given: object, only: object) -> None:
    if given != only:
        raise UnknownKeyError(f"{what}: only {only!r} is translated, not {given!r}")


_MAPPINGS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "pii": _pii,
    "regex": _regex,
    "keywords": _keywords,
    "toxicity": _loading,
}

# --- test doubles


def _asking(entry: Json, world: World, ask: Ask) -> Processor:
    return Asking(ask=counted(world, ask), **_shared(entry))


def _detector(entry: Json, world: World) -> Processor:
    known("pii", entry, {*_SHARED, "entities", "replacement", "detector", "cadence"})
    if "detector" in entry:
        known("detector", entry["detector"], {"stub_raises"})
        return _asking(entry, world, raising(entry["detector"]["stub_raises"]))
    return _asking(entry, world, searching([one for one in PRIVATE if one.label in entry["entities"]]))


def _toxicity(entry: Json, world: World) -> Processor:
    known("toxicity", entry, {*_SHARED, "threshold", "scorer"})
    stub = entry["scorer"]
    known("scorer", stub, {"stub_sleep_ms", "score", "stub_scores", "stub_raises", "stub_swallows_cancel_ms"})
    if "stub_swallows_cancel_ms" in stub:
        return _asking(entry, world, stubborn(stub["stub_swallows_cancel_ms"] / 1000))
    if "stub_raises" in stub:
        return _asking(entry, world, raising(stub["stub_raises"]))
    score = partial(_highest, stub.get("stub_scores", {"": stub.get("score", 0)}))
    ask = scoring(score, entry["threshold"], stub.get("stub_sleep_ms", 0) / 1000)
    return _asking(entry, world, ask)


def _highest(scores: Mapping[str, float], text: str) -> float:
    return max((score for word, score in scores.items() if word in text), default=0)


def _told(entry: Json, world: World) -> Processor:
    known("test_double", entry, {*_SHARED, "behaviour"})
    behaviour = entry["behaviour"]
    if "block_on" in behaviour:
        known("behaviour", behaviour, {"block_on", "wrap_in_except_all"})
        _must_be("wrap_in_except_all", behaviour["wrap_in_except_all"], only=True)
        return Scrub(word=behaviour["block_on"], **{**_shared(entry), "strategy": "block"})
    if "raise" in behaviour:
        known("behaviour", behaviour, {"raise"})
        return _asking(entry, world, raising(behaviour["raise"]))
    known("behaviour", behaviour, {"sleep_ms", "side_effect"})
    done = partial(world.side_effects.append, behaviour["side_effect"])
    return _asking(entry, world, working(behaviour["sleep_ms"] / 1000, done))


def _policy(entry: Json, _world: World) -> Processor:
    known("tool_policy", entry, {"use", "id", "deny", "strategy"})
    _must_be("strategy", entry["strategy"], "block")
    return ToolPolicy(id=entry["id"], deny=tuple(entry["deny"]))


_DOUBLES: Final[Mapping[str, Callable[[Json, World], Processor]]] = {
    "pii": _detector,
    "toxicity": _toxicity,
    "test_double": _told,
    "tool_policy": _policy,
}
