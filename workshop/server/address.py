"""Where this store's dashboard listens, for commands that link to its pages."""

from __future__ import annotations

import http.client
import urllib.request

from workshop.store.store import Store

KEY = "dashboard_address"  # of the store's settings
PATIENCE = 5.0  # seconds for an answer, of a machine that may be crowded
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy knows another 127.0.0.1
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # who listens everywhere is here under this name


def tell(store: Store, host: str, port: int) -> None:
    """Let the store know where its dashboard is about to listen."""
    name = _ANYWHERE.get(host, host)
    store.set_setting(KEY, f"http://{f'[{name}]' if ':' in name else name}:{port}")


def dashboard(store: Store) -> str | None:
    """The address of the dashboard, where one answers; None otherwise. One that has ended leaves its address."""
    address = store.setting(KEY)
    if not address:
        return None
    try:
        with _DIRECTLY.open(f"{address}/join", timeout=PATIENCE):
            return address
    except (OSError, ValueError, http.client.HTTPException):
        return None


def page(store: Store, run_id: int) -> str | None:
    """The address of a run's page, where a dashboard answers."""
    address = dashboard(store)
    return None if address is None else f"{address}/run?run={run_id}"
