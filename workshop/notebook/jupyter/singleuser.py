"""A learner's JupyterLab under JupyterHub: `python -m workshop.notebook.jupyter.singleuser`, which JupyterHub starts in
place of its own `jupyterhub-singleuser`. It brings the learner's folder up to date and becomes that one."""

from __future__ import annotations

import os
import sys

from workshop.core.errors import WorkshopError
from workshop.notebook.jupyter import settings
from workshop.notebook.jupyter.settings import prepare


def main() -> None:
    os.umask(0o077)  # what a learner writes is for nobody else
    try:
        prepare(lambda words: print(words, file=sys.stderr, flush=True))
        os.environ.update(settings.environment(os.environ.get(settings.DASHBOARD)))
    except WorkshopError as error:
        sys.exit(str(error))
    os.execv(sys.executable, [sys.executable, "-P", "-m", "jupyterhub.singleuser", *sys.argv[1:]])


if __name__ == "__main__":
    main()
