"""What the command `guardrails` starts with: a look at whose package `guardrails` is, then the command.

Other distributions bring a package of the same name, and pip lets one write over the other. This module has a
name of its own and imports nothing of the package before that look, so that it can say what is wrong.
"""

import re
import signal
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NoReturn

OURS = "guardrail-processors"
"""The distribution that this module belongs to; `guardrails.cli` says the same."""

KNOWN_OTHERS = ("guardrails-ai", "openai-guardrails")
"""Distributions with a package `guardrails` that people are likely to have."""


def main() -> None:
    """Run the command `guardrails`; it ends the process.

    Raises:
        SystemExit: always; the code is the command's, or 2 if the package `guardrails` is not ours.
        ImportError: something that ours needs is not installed.
    """
    _die_of_signals()
    others = [name for name in KNOWN_OTHERS if _installed(name)]
    if others:
        _refuse(_shared_with(others))
    _own_cli().command(prog_name="guardrails")


def _die_of_signals() -> None:
    """Let Ctrl-C and a closed output end the process as they end other filters: at once and silently.

    An ignored Ctrl-C stays ignored: that is how a shell starts what it puts into the background.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _own_cli() -> ModuleType:
    """Our `guardrails.cli`; ends the process if the package is somebody else's."""
    failed: Exception | None = None
    try:
        from guardrails import cli  # noqa: PLC0415 - not before it is known whose package it may be
    except Exception as error:  # noqa: BLE001 - what another package raises may be anything
        failed = error
    else:
        if getattr(cli, "DISTRIBUTION", None) == OURS:
            return cli
    owners = {re.sub(r"[-_.]+", "-", name).lower() for name in packages_distributions().get("guardrails", ())}
    if others := sorted(owners - {OURS}):
        _refuse(_shared_with(others))
    spec = find_spec("guardrails")
    origin = spec.origin if spec is not None else None
    if failed is not None and origin == str(Path(__file__).with_name("guardrails") / "__init__.py"):
        raise failed  # it is ours, and something that it needs is broken
    return _refuse(
        f'the import name "guardrails" stands for {origin}, which is not of {OURS}; '
        "rename it or take it off the import path"
    )


def _shared_with(others: list[str]) -> str:
    names = " ".join(others)
    return (
        f'the import name "guardrails" also belongs to {" and ".join(others)}, installed in this '
        f"environment; one environment can hold one of them: pip uninstall {names}, "
        f"then pip install --force-reinstall {OURS}"
    )


def _refuse(message: str) -> NoReturn:
    sys.stderr.write(f"guardrails: {message}\n")
    raise SystemExit(2)


if __name__ == "__main__":
    main()
