"""What the README and the changelog say is so: each snippet is run, each number and list compared."""

import base64
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from guardrails import Pipeline, Strategy, TextProcessor, load_pipeline, parse_chunk
from guardrails.document import Document, Limits
from guardrails.registry import GROUP, presets
from guardrails.surfaces import SURFACES
from guardrails.testing import BACKENDS, CONTRACT
from guardrails.text.processor import USER_SECONDS
from processors._patterns import PRESETS
from processors.regex import Regex, Rule
from tests.helpers import distribute

ROOT: Final = Path(__file__).parents[1]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE: Final = re.compile(r"# (\S+\.py)\n")
SECONDS: Final = 120
"""How long a command may take before a test fails."""


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [body for name, body in BLOCK.findall(README) if name == language]


def files() -> dict[str, str]:
    """The blocks that are files, whose first line says which."""
    return {match[1]: body for body in blocks("python") if (match := FILE.match(body))}


def section(title: str) -> str:
    """What stands under a heading."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def execute(
    command: list[str], *, cwd: Path = ROOT, imports: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command as somebody who has activated the environment; both outputs are one."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if imports is not None:
        env["PYTHONPATH"] = str(imports)
    return subprocess.run(  # noqa: S603
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def test_the_python_examples_run() -> None:
    """The Python examples, one after the other, run without a warning, and what they assert is so."""
    examples = [body for body in blocks("python") if not FILE.match(body)]
    assert len(examples) >= 3
    done = execute([sys.executable, "-W", "error", "-c", "\n".join(examples)])
    assert (done.returncode, done.stdout) == (0, "")


def test_the_yaml_example_is_the_file() -> None:
    """The pipeline shown is that of examples/guard.yaml, comments aside, and can be loaded."""
    (shown,) = blocks("yaml")
    path = ROOT / "examples" / "guard.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert shown == "".join(line for line in lines if not line.startswith("#"))
    assert len(load_pipeline(path).processors) == 2


def commands() -> list[tuple[str, str]]:
    """The commands of the console blocks, each with the output that is shown."""
    talk = "".join(blocks("console")).split("$ ")
    parted = [part.partition("\n") for part in talk if part]
    return [(command, output) for command, _, output in parted]


@pytest.mark.parametrize(("command", "output"), commands(), ids=lambda text: text[:30])
def test_the_commands_print_what_is_shown(command: str, output: str) -> None:
    """Each command of the README prints exactly what stands below it."""
    assert execute(["sh", "-c", command]).stdout == output


def test_the_exit_codes_are_those_stated(tmp_path: Path) -> None:
    """0 for a stream that ended by itself, 2 for wrong input or configuration, 3 for a blocked one."""
    statuses = re.findall(r"^\| (\d) \|", section("From the command line"), re.MULTILINE)
    assert statuses == ["0", "1", "2", "3"]
    config, streams = "examples/guard.yaml", "examples/streams"
    (tmp_path / "wrong").write_text("wrong")
    for code, arguments in (
        (0, [config, f"{streams}/plain.jsonl"]),
        (2, [str(tmp_path / "wrong"), f"{streams}/plain.jsonl"]),
        (2, [config, str(tmp_path / "wrong")]),
        (3, [config, f"{streams}/private.jsonl"]),
    ):
        assert execute(["guardrails", "run", *arguments]).returncode == code


def test_a_shared_import_name_is_refused_as_shown(tmp_path: Path) -> None:
    """Beside a distribution with the same import name, the command says what is shown and exits with 2."""
    distribute(tmp_path, "guardrails-ai", {})
    done = execute(["guardrails", "check", "examples/guard.yaml"], imports=tmp_path)
    assert (done.returncode, done.stdout) == (2, blocks("text")[0])


def test_what_is_installed_is_complete() -> None:
    """`pip install .` brings every module that the command or an entry point names."""
    project = PROJECT["project"]
    named = [project["scripts"], *project["entry-points"].values()]
    modules = {target.partition(":")[0].partition(".")[0] for group in named for target in group.values()}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    # What `include` names beside `packages` is not packed.
    packed = {Path(path).stem for path in wheel.get("only-include", wheel.get("packages", []))}
    assert packed == modules | {"guardrails"}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages and tests after somebody has added a processor as the README says."""
    at = tmp_path_factory.mktemp("grown")
    shutil.copytree(ROOT / "processors", at / "processors", ignore=shutil.ignore_patterns("__pycache__"))
    for path, body in files().items():
        (at / path).parent.mkdir(parents=True, exist_ok=True)
        (at / path).write_text(body, encoding="utf-8")
    added = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    assert list(added) == [GROUP]
    if not added[GROUP].keys() <= PROJECT["project"]["entry-points"][GROUP].keys():
        distribute(at, "grown", added[GROUP])  # else somebody has followed the README here
    (at / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\nfilterwarnings = error\n")
    return at


def test_an_added_processor_keeps_the_contract(grown: Path) -> None:
    """The processor and the test that the README adds work as they stand, with fewer examples here."""
    (path,) = (path for path in files() if path.startswith("tests/"))
    whole = (grown / path).read_text(encoding="utf-8")
    quick = whole.replace("backend=backend)", "backend=backend, examples=10)")
    assert quick != whole
    (grown / path).write_text(quick, encoding="utf-8")
    done = execute([sys.executable, "-m", "pytest", "-q", path], cwd=grown, imports=grown)
    assert done.returncode == 0, done.stdout
    assert re.search(rf"\b{len(CONTRACT) * len(BACKENDS)} passed\b", done.stdout)


def test_an_added_processor_is_found_by_a_configuration(grown: Path) -> None:
    """The entry that the README shows can stand in a configuration."""
    (entry,) = re.findall(r"`(\{type: staff_number.*?\})`", README)
    (grown / "guard.yaml").write_text(f"version: 1\noutput_processors:\n  - {entry}\n")
    done = execute(["guardrails", "check", "guard.yaml"], cwd=grown, imports=grown)
    assert (done.returncode, done.stdout) == (
        0,
        "guard.yaml: ok\n  output  staff_number  staff_number  mask\n",
    )


@pytest.mark.parametrize("tool", [["format", "--check"], ["check"]], ids=["format", "lint"])
def test_the_added_files_are_clean(tool: list[str], grown: Path) -> None:
    """What the README adds passes `make check` as it stands."""
    (path,) = (path for path in files() if path.startswith("tests/"))
    (grown / path).write_text(files()[path], encoding="utf-8")
    ours = ["--config", str(ROOT / "pyproject.toml"), "--config", f"src = ['{ROOT}', '{grown}']"]
    done = execute(["ruff", *tool, "--no-cache", *ours, *files()], cwd=grown)
    assert done.returncode == 0, done.stdout


def test_the_strategies_are_all_in_the_table() -> None:
    """The table has every strategy, the strongest first."""
    table = re.findall(r"^\| `(\w+)` \|", section("What is found, and what becomes of it"), re.MULTILINE)
    assert table == list(get_args(Strategy))


def test_the_limits_are_those_stated() -> None:
    """The limits named are the defaults."""
    text = section("What is found, and what becomes of it")
    fields = TextProcessor.model_fields
    assert f"`max_hold`\n({fields['max_hold'].default:,})" in text
    assert f"`max_waiting` ({fields['max_waiting'].default:,})" in text
    assert (
        f"`timeout` ({fields['timeout'].default}\nseconds for one awaited answer, {USER_SECONDS:g} for"
        in text
    )


def test_the_keys_of_a_file_and_the_presets_are_those_stated() -> None:
    """The table has every key of a configuration, the text every preset and what a step may hold."""
    text = section("From YAML")
    table = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.MULTILINE)
    assert re.findall(r"\w+", " ".join(table)) == list(Document.model_fields)
    assert all(f"`{name}`" in text for name in (*presets(), *Limits.model_fields))
    assert f"({Limits().max_buffer:,})" in text


def test_the_settings_of_rules_and_the_presets_are_those_stated() -> None:
    """The keys of a rule and the presets are named completely."""
    text = section("What is found, and what becomes of it")
    (keys,) = re.findall(r"`\{(name, .*?)\}`", text)
    fields = Rule.model_fields
    said = [name if fields[name].is_required() else f"{name}?" for name in fields]
    assert sorted(keys.split(", ")) == sorted(said)
    assert all(f"`{preset}`" in text for preset in PRESETS)


def test_a_rule_finds_what_it_says() -> None:
    """Of a key longer than a rule allows, the rest stays, as the README warns."""
    key = {"type": "text-delta", "payload": {"id": "t", "text": "sk-" + "a1" * 101}}
    rule = Rule(name="key", pattern="sk-[A-Za-z0-9]{40,200}")
    assert Pipeline([Regex(rules=(rule,))]).run_sync([key]).text == "[KEY]a1"


UNSEEN: Final[dict[str, dict[str, Any]]] = {
    "Files that are no text": {
        "type": "file",
        "payload": {"data": base64.b64encode(b"jane.doe@example.com").decode(), "mimeType": "image/png"},
    },
    "in base64": {"type": "data-note", "data": base64.b64encode(b"jane.doe@example.com").decode()},
}
"""What the README says passes unseen, in its words, with a chunk that shows it."""


@pytest.mark.parametrize("words", UNSEEN)
def test_what_is_not_guarded_is_said(words: str) -> None:
    """What passes unseen is named, so that nobody relies on it; once it is guarded, this must change."""
    assert words.lower() in section("What is not guarded").lower()
    chunk = parse_chunk(UNSEEN[words])
    with Pipeline([Regex(presets=("private-data",))]).stream_sync([chunk]) as chunks:
        assert list(chunks) == [chunk]


def test_the_surfaces_are_all_in_the_table() -> None:
    """The table has every surface, in the order of the settings."""
    table = re.findall(r"^\| (`.*?) \|", section("Where it looks"), re.MULTILINE)
    assert [name for cell in table for name in re.findall(r"`(\w+)`", cell)] == list(SURFACES)


def test_links_and_targets_exist() -> None:
    """Every file that the README links to exists, and every `make` target that it names."""
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))
    assert targets >= {"demo", "test", "bench"}
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_the_figures_have_their_place() -> None:
    """The measured figures stand between markers, once."""
    assert README.count("<!-- bench -->") == README.count("<!-- /bench -->") == 1
    assert README.index("<!-- bench -->") < README.index("<!-- /bench -->")


def test_the_changelog_has_this_version() -> None:
    """The newest entry of the changelog is about the version of the project."""
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["project"]["version"]


def test_the_licence_and_the_python_version_are_those_of_the_project() -> None:
    """The README names the licence of the project and the Python version that it was run on."""
    assert f"[{PROJECT['project']['license']}](LICENSE)" in README
    assert f"Python {PROJECT['project']['requires-python'].removeprefix('>=')}," in README
