"""What tests call on the ranks of a notebook, and how a cell there tells that it has come to a line."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from IPython import get_ipython

from workshop.engine import cells


def look(names, more):
    return names["comm"].allreduce(names["rank"]) + more, names["rank"]


def fall(names):
    if names["rank"] == 1:
        raise ValueError("not here")


def wait(names):
    if names["rank"] == 0:
        names["comm"].recv(source=1)


def say_told(code: str) -> None:
    """Print "told" once the notebook knows that this rank stays in the line that begins so, of the cell that calls."""
    telling = sys.stdout.flush.__self__  # while a cell of %%ranks runs; what is printed follows what it has told
    _when(lambda: (telling._told or {}).get("code", "").startswith(code), lambda: print("told"))


def note_where(code: str, file: str) -> None:
    """Make a file once this rank stays in the line that begins so, of the cell that calls."""
    main, names = threading.main_thread().ident, get_ipython().user_global_ns

    def there() -> bool:
        where = cells._where(sys._current_frames().get(main), names)
        return bool(where) and where["code"].startswith(code)

    def stays() -> bool:
        if not there():
            return False
        time.sleep(cells.FLUSH)
        return there()

    _when(stays, Path(file).touch)


def _when(condition: Callable[[], bool], then: Callable[[], object]) -> None:
    def wait_for_it() -> None:
        while not condition():
            time.sleep(0.01)
        then()

    threading.Thread(target=wait_for_it, daemon=True).start()
