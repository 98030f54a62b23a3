"""Start the recorder in a watched Python program, then run the user's own sitecustomize, which this file hides."""

from __future__ import annotations

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _folder]
_hiding = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found, import-self, unused-ignore]  # the user's, if there is any # noqa: F401
except ImportError as _error:
    if _error.name != "sitecustomize":
        raise
    if _hiding is not None:
        sys.modules["sitecustomize"] = _hiding  # the import system looks for it
try:
    from importlib.util import module_from_spec, spec_from_file_location

    _spec = spec_from_file_location("_workshop_recorder", os.path.join(os.path.dirname(_folder), "recorder.py"))
    if _spec is not None and _spec.loader is not None:
        _recorder = module_from_spec(_spec)
        _spec.loader.exec_module(_recorder)
        _recorder.start()
except Exception as _error:  # the program has to run in any case
    print(f"workshop watch: MPI calls of this process can't be recorded ({_error}).", file=sys.stderr)
