"""JupyterLab beside the dashboard: how it is set up, started, kept up and ended, and what it shows of the workshop.

`child` is what `workshop up` keeps; `keeper` is the process between the two, so that nothing is left of what JupyterLab
has started, and JupyterLab itself with the settings that `settings` writes; `extension` is its server's part of the
tiles in labextensions/, and how its panel starts ranks. `hub` is for a class on JupyterHub.
"""

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Where Jupyter's server finds the extension."""
    return [{"module": "workshop.notebook.jupyter.extension"}]
