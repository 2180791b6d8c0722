"""What the library logs while a command runs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Handler(logging.Handler):
    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        self._take(record.getMessage())


@contextmanager
def warnings_to(take: Callable[[str], None]) -> Iterator[None]:
    """Hand over the library's warnings; without a handler, Python would write them bare to standard error.

    Args:
        take: called with each.
    """
    handler = _Handler(take)
    logger = logging.getLogger("guardrails")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
