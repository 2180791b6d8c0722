"""What came of a run: counted while it goes on, told at its end."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from guardrails.chunks import Tripwire
from guardrails.cli.reading import Reader
from guardrails.cli.writing import Writer
from guardrails.problems import Problem
from guardrails.processor import Finding
from guardrails.stream import Result


@dataclass
class Summary:
    """What is known of a run, as far as it has come.

    Attributes:
        status: `completed`, `blocked`, or `error` when it broke off; also when it could not begin.
        error: why it broke off or could not begin.
        problems: what is wrong with the configuration.
        warnings: what the library warned of (a check that failed and let its text pass), each once.
        tripwire: the tripwire in the output.
        findings: how many have which code.
        reader: what reads, once there is one.
        writer: what writes.
    """

    status: str = "error"
    error: str | None = None
    problems: Sequence[Problem] = ()
    warnings: list[str] = field(default_factory=list)
    tripwire: Tripwire | None = None
    findings: Counter[str] = field(default_factory=Counter)
    reader: Reader | None = None
    writer: Writer | None = None
    begun: float = field(default_factory=time.monotonic)

    def note(self, finding: Finding) -> None:
        """One more has been found."""
        self.findings[finding.code] += 1

    def warn(self, message: str) -> None:
        """The library warns; of what goes wrong with each chunk once is enough."""
        if message not in self.warnings:
            self.warnings.append(message)

    def end(self, result: Result, error: str | None) -> None:
        """A run has come to its end, or has broken off."""
        # A stream that is left because writing failed counts as cancelled, which nobody has done.
        self.status = "error" if error else result.status
        self.error = error
        self.tripwire = result.tripwire

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "status": self.status,
            "error": self.error,
            "problems": [problem.as_dict() for problem in self.problems],
            "warnings": self.warnings,
            "tripwire": _as_dict(self.tripwire),
            "findings": dict(sorted(self.findings.items())),
            "chunks_in": self.reader.count if self.reader else 0,
            "chunks_out": self.writer.count if self.writer else 0,
            "bytes_in": self.reader.bytes if self.reader else 0,
            "bytes_out": self.writer.bytes if self.writer else 0,
            "seconds": round(time.monotonic() - self.begun, 3),
        }

    def line(self) -> str:
        """It in one line, for people."""
        values = self.as_dict()
        count = sum(self.findings.values())
        codes = ", ".join(f"{code} {times:,}" for code, times in values["findings"].items())
        found = f"{count or 'no'} finding{'s' if count != 1 else ''}" + (f" ({codes})" if codes else "")
        amount = ", ".join(
            _amount(end.form == "text", values[f"chunks_{way}"], values[f"bytes_{way}"]) + f" {way}"
            for way, end in (("in", self.reader), ("out", self.writer))
            if end is not None
        )
        return "; ".join(
            part for part in (f"{self.status}: {found}", amount, f"{values['seconds']} s") if part
        )


def _as_dict(tripwire: Tripwire | None) -> dict[str, Any] | None:
    if tripwire is None:
        return None
    said = tripwire.payload
    return {
        "processor": said.processor_id,
        "code": said.code,
        "reason": said.reason,
        "retry": bool(said.retry),
    }


def _amount(is_text: bool, chunks: int, size: int) -> str:
    """How much there was; how many pieces a text came in says nothing."""
    count, unit = (size, "byte") if is_text else (chunks, "chunk")
    return f"{count:,} {unit}{'s' if count != 1 else ''}"
