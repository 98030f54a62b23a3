"""Serve the dashboard: `python -m workshop.web --host 127.0.0.1 --port 8501`."""

from __future__ import annotations

import argparse
import sys

from workshop.core.errors import WorkshopError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m workshop.web", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--framed-by", default="", help="origins whose pages may show these in a frame")
    parser.add_argument("--proxy", default="", help="address of a reverse proxy that tells from where requests come")
    options = parser.parse_args()
    from workshop.web.server import serve

    try:
        serve(options.host, options.port, options.framed_by, options.proxy)
    except WorkshopError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
