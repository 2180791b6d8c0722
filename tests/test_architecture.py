"""The house rules that can be read off the source: who imports whom, what is public, what is explained."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
COMMAND: Final = "guardrail_processors_command"
OWN: Final = ("guardrails", "processors", COMMAND)

LAYERS: Final = (
    "choices",
    "files",
    "lines",
    "chunks",
    "processor",
    "surfaces",
    "content",
    "text",
    "source",
    "ending",
    "stream",
    "release",
    "inputs",
    "waiting",
    "loop",
    "pipeline",
    "cases",
    "_yaml",
    "problems",
    "_invalid",
    "_settings",
    "registry",
    "document",
    "config",
    "schema",
    "cli",
)
"""The parts of `guardrails`: each may import itself and what stands before it."""

ASIDE: Final = {
    "adapters": {"lines", "chunks", "source", "pipeline", "config"},
    "testing": {"chunks", "processor", "surfaces", "content", "text", "stream", "release", "pipeline"},
    "processors": {"choices", "files", "chunks", "processor", "surfaces", "text"},
}
"""Parts beside the layers, which no layer may import, with the layers that they may import."""

HEAVY: Final = (
    "click",
    "hypothesis",
    "numpy",
    "onnxruntime",
    "presidio_analyzer",
    "pytest",
    "spacy",
    "torch",
    "transformers",
    "trio",
)
"""Packages that `import guardrails` leaves alone."""

PUBLIC_PACKAGES: Final = ("guardrails", "guardrails.chunks", "guardrails.testing")


@cache
def modules() -> dict[str, Path]:
    """Every module of ours with its file."""
    files = [*ROOT.glob("guardrails/**/*.py"), *ROOT.glob("processors/**/*.py"), ROOT / f"{COMMAND}.py"]
    return {name_of(file): file for file in files}


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


def imported(node: ast.stmt) -> Iterator[str]:
    """Our modules that a statement imports."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        paths = [f"{node.module}.{alias.name}" for alias in node.names]
        names = [path if path in modules() else str(node.module) for path in paths]
    yield from dict.fromkeys(name for name in names if name.split(".")[0] in OWN)


@cache
def imports() -> dict[str, set[str]]:
    """Each of our modules with those that it imports, anywhere in it."""
    return {
        name: {
            other
            for node in ast.walk(tree_of(name))
            if isinstance(node, ast.stmt)
            for other in imported(node)
        }
        for name in modules()
    }


def part_of(name: str) -> str:
    """The layer or other part that a module belongs to; empty for `guardrails` itself."""
    top, *below = name.split(".")
    return below[0] if top == "guardrails" and below else top.removeprefix("guardrails")


def may_import(name: str, other: str) -> bool:
    """The import rule."""
    part, wanted = part_of(name), part_of(other)
    if name == "guardrails":  # the public names
        return wanted in LAYERS and wanted != "cli"
    if name == "guardrails.__main__":
        return other == COMMAND
    if name == COMMAND:
        return other == "guardrails.cli"
    if part in ASIDE:
        shared = other == f"guardrails.{part}" or wanted == part == "testing"
        own_help = wanted == part == "processors" and "._" in other
        return wanted in ASIDE[part] or shared or own_help
    if part == "cli" and wanted == "adapters":  # it reads and writes what travels on the wire
        return True
    return wanted in LAYERS and LAYERS.index(wanted) <= LAYERS.index(part)


def test_each_module_has_its_place() -> None:
    """Every module belongs to a part whose place is stated here, and every stated part exists."""
    parts = {part_of(name) for name in modules()}
    assert parts == {"", "__main__", COMMAND, *LAYERS, *ASIDE}


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_one_way(name: str) -> None:
    """A module imports only what its place allows; so `guardrails` knows no processor and no framework."""
    assert not [other for other in sorted(imports()[name]) if not may_import(name, other)]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *((f"guardrails.{first}", f"guardrails.{second}") for first, second in pairwise(LAYERS)),
        ("guardrails.pipeline", "processors.regex"),
        ("guardrails.config", "processors"),
        ("guardrails.text.step", "guardrails"),
        ("guardrails.loop", "guardrails.testing"),
        ("guardrails.config", "guardrails.adapters.text"),
        ("guardrails", "guardrails.cli"),
        ("guardrails", "guardrails.testing"),
        ("guardrails.adapters.text", "guardrails.adapters.other"),
        ("guardrails.adapters.text", "guardrails.text.processor"),
        ("processors.regex", "processors.other"),
        ("processors.regex", "guardrails.pipeline"),
        ("processors.regex", "guardrails"),
    ],
)
def test_the_rule_forbids(name: str, other: str) -> None:
    """The rule refuses what stands to the right, and neighbours that are to know nothing of each other."""
    assert not may_import(name, other)


def test_there_are_no_import_cycles() -> None:
    """No module imports itself by way of others."""
    assert len(list(TopologicalSorter(imports()).static_order())) == len(modules())


@pytest.mark.parametrize("name", sorted(modules()))
def test_own_imports_stand_at_the_top(name: str) -> None:
    """What a module imports of ours stands at its top; only the command first looks whose package it is."""
    inside = [
        other
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.stmt) and node not in tree_of(name).body
        for other in imported(node)
    ]
    assert inside == (["guardrails.cli"] if name == COMMAND else [])


def test_importing_is_light() -> None:
    """`import guardrails` loads no processor, no command line, no test tools and nothing heavy."""
    code = "import guardrails, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = set(done.stdout.split())
    assert "guardrails" in loaded
    assert not loaded & {*HEAVY, "processors"}


def sort_key(name: str) -> tuple[int, str]:
    """As ruff sorts `__all__`: SCREAMING_CASE, CamelCase, then the others."""
    return 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name


@pytest.mark.parametrize("name", PUBLIC_PACKAGES)
def test_public_names_are_listed(name: str) -> None:
    """`__all__` is sorted and lists each public name that the package imports, and each one exists."""
    package = importlib.import_module(name)
    bound = {
        alias.asname or alias.name
        for node in tree_of(name).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    public = {one for one in bound if not one.startswith("_")}
    assert package.__all__ == sorted(public, key=sort_key)
    assert [one for one in package.__all__ if not hasattr(package, one)] == []


def unexplained(body: list[ast.stmt], path: str) -> Iterator[str]:
    """Public classes and functions without a docstring, methods included."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_"):
                continue
            if ast.get_docstring(node) is None:
                yield f"{path}.{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from unexplained(node.body, f"{path}.{node.name}")


@pytest.mark.parametrize("name", sorted(modules()))
def test_what_is_public_is_explained(name: str) -> None:
    """Every module, public class, function and method has a docstring."""
    assert ast.get_docstring(tree_of(name))
    assert list(unexplained(tree_of(name).body, name)) == []
