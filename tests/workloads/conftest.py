"""Runs of capabilities are seeded in a session that is alive."""

from tests.web.conftest import session

__all__ = ["session"]
