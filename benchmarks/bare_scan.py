"""The bare scan: exact hold-back on plain strings, without chunks or a pipeline; the yardstick for speed."""

from collections.abc import Sequence

import regex

from guardrails.text.syntax import exact_form

CONTEXT = 64


class BareScan:
    """Redacts one text; rules 1 to 4 of exact hold-back and nothing else."""

    def __init__(self, patterns: Sequence[str], replacement: str = "[REDACTED]") -> None:
        forms = [exact_form(pattern) for pattern in patterns]
        self.found = regex.compile("|".join(f"(?:{form.found})" for form in forms))
        self.touches_end = regex.compile(f"(?:{'|'.join(form.touching for form in forms)})(?!)")
        self.replacement = replacement
        self.text, self.settled, self.alive, self.ask_again = "", 0, False, 0

    def feed(self, piece: str, *, final: bool = False) -> str:
        """Take more text; what is decided of it, redacted."""
        self.text += piece
        text, at = self.text, self.settled
        out: list[str] = []
        if self.alive and not final:
            if len(text) - at < self.ask_again:
                return ""
            if self.touches_end.match(text, at, partial=True):
                held = len(text) - at
                self.ask_again = held + held // 16 if held > 512 else 0
                return ""
        self.alive, self.ask_again = False, 0
        while True:
            partial = None if final else self.touches_end.search(text, at, partial=True)
            hold = partial.start() if partial else len(text)
            match = self.found.search(text, at)
            if match and (final or (match.start() < hold and match.end() < len(text))):
                out += text[at : match.start()], self.replacement
                at = match.end()
                continue
            if match and not final:
                hold = min(hold, match.start())
            out.append(text[at:hold])
            self.alive = partial is not None and partial.start() == hold
            cut = max(0, hold - CONTEXT)
            self.text, self.settled = text[cut:], hold - cut
            return "".join(out)
