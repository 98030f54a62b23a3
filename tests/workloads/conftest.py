"""Runs of capabilities are seeded in a session that is alive."""

from tests.server.conftest import session

__all__ = ["session"]
