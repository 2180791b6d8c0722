"""Fixtures for all tests: every async test runs on both event loops."""

import pytest

from guardrails.testing import BACKENDS


@pytest.fixture(params=BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The event loop."""
    return str(request.param)
