"""What the library logs while a command runs: warnings, said as everything else is said."""

import logging
from collections.abc import Callable

from guardrails.cli.terminal import say


class _Teller(logging.Handler):
    def __init__(self, before: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._before = before

    def emit(self, record: logging.LogRecord) -> None:
        self._before()
        say(record.getMessage())


def tell_warnings(before: Callable[[], None] = lambda: None, *, quiet: bool = False) -> None:
    """Say warnings on standard error; without a handler, Python would write them there bare.

    Args:
        before: called before each.
        quiet: say none.
    """
    logging.getLogger("guardrails").addHandler(logging.NullHandler() if quiet else _Teller(before))
