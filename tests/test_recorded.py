"""Streams recorded from the real Mastra: what is clean in them passes, what is refused ends well."""

from pathlib import Path
from typing import Final

import anyio
import pytest

from guardrails import Pipeline, load_pipeline
from guardrails.testing.endings import unbalanced
from processors.regex import Regex
from tests.helpers import types
from tests.planting import STREAMS, came_of, joined, recorded

FOUND_IN: Final = frozenset({"n2f_regex_redact_reasoning_and_tool", "n2i_regex_subagent_tool_output"})
"""Recordings in which there is an address; in all others a finding would be a false alarm."""

each_stream = pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)


def test_all_recordings_are_there() -> None:
    """All 111 recorded streams are tried."""
    assert len(STREAMS) == 111


@each_stream
def test_an_empty_pipeline_changes_nothing(path: Path) -> None:
    """Without processors each chunk comes out equal to its line, in order."""
    came = anyio.run(came_of, Pipeline([]), recorded(path))
    assert came.bodies == recorded(path)
    assert came.result.status == "completed"


@each_stream
def test_strict_passes_a_stream_or_ends_it(path: Path) -> None:
    """Under `strict` a stream comes out equal, its pieces joined, or is refused and closed in full."""
    came = anyio.run(came_of, load_pipeline("strict"), recorded(path))
    assert (came.result.status == "blocked") == (path.stem in FOUND_IN)
    if came.result.status == "blocked":
        assert unbalanced(came.chunks) == []
        kinds = types(came.chunks)
        assert (kinds.count("tripwire"), kinds.count("finish"), kinds[-1]) == (1, 1, "finish")
    else:
        assert joined(came.bodies) == joined(recorded(path))


@each_stream
def test_redaction_changes_only_what_is_found(path: Path) -> None:
    """Where neither private data nor secrets are found, all comes out equal, its pieces joined."""
    came = anyio.run(came_of, Pipeline([Regex(presets=("private-data", "secrets"))]), recorded(path))
    assert came.result.status == "completed"
    assert bool(came.result.findings) == (path.stem in FOUND_IN)
    assert (joined(came.bodies) == joined(recorded(path))) != (path.stem in FOUND_IN)
