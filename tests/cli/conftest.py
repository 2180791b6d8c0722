"""The place in which the commands run: a folder with configurations, and somebody else's processors."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.helpers import distribute

HEAD: Final = "version: 1\noutput_processors:\n"
KEY: Final = "rules: [{name: key, pattern: 'sk-[a-z]{4,20}'}]"
CONFIGS: Final = {
    "redact": f"{HEAD}  - {{type: regex, id: secrets, {KEY}}}\n",
    "block": f"{HEAD}  - {{type: regex, id: no-keys, strategy: block, {KEY}}}\n",
    "slow": f"{HEAD}  - {{type: slow_words}}\n",
    "late": f"{HEAD}  - {{type: slow_words, seconds: 0.8}}\n",
    "slow-block": f"{HEAD}  - {{type: slow_words, strategy: block}}\n",
    "failing": f"{HEAD}  - {{type: slow_words, word: BOOM, on_error: pass}}\n",
    "input": f"version: 1\ninput_processors:\n  - {{type: regex, {KEY}}}\n",
}
PROCESSORS: Final = """
import re

import anyio

from guardrails import Detection, Processor, TextProcessor


class SlowWords(TextProcessor):
    \"\"\"Finds a word, slowly.\"\"\"

    word: str = "bad"
    seconds: float = 0.3

    async def detect(self, segments):
        if self.word == "BOOM":
            raise RuntimeError("what it was asked about must not be told")
        await anyio.sleep(self.seconds)
        return [
            [Detection(*each.span(), "BAD", "test.bad") for each in re.finditer(self.word, segment.text)]
            for segment in segments
        ]


class Passing(Processor):
    def open(self, run):
        return lambda item: [item]
"""
TYPES: Final = {
    "slow_words": "other_processors:SlowWords",
    "passes": "other_processors:Passing",
    "broken": "other_processors:Absent",
}


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where processes find compiled what an earlier one has imported; all workers share it."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "bytecode"


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytecode: Path) -> Path:
    """A working directory with configurations, and a distribution of somebody else's on the import path."""
    for name, text in CONFIGS.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    site = tmp_path / "site"
    distribute(site, "other-processors", TYPES)
    (site / "other_processors.py").write_text(PROCESSORS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(bytecode))
    for name in ("COLUMNS", "NO_COLOR", "TERM", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
