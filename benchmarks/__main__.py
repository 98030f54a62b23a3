"""The command line of the benches: `python -m benchmarks NAME`."""

from __future__ import annotations

import argparse
import inspect
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import ModuleType
from typing import Any

import benchmarks
from benchmarks import Document, say
from workshop.core.errors import WorkshopError
from workshop.core.topology import allowed_cores
from workshop.sessions.measurement_lock import holder, machine_held, refuse_wait, waiting

NAMES = ("kmeans", "regression", "mnist", "allreduce", "start", "tune", "federated", "parallel", "scale")
NAMES += ("elastic", "hangs", "quiz", "viewers", "pages", "chaos", "peers")


def main(words: Sequence[str]) -> int:
    """Do what the words say; returns the exit code."""
    modules = {name: import_module(f"benchmarks.{name}") for name in NAMES}
    options = vars(_parser(modules).parse_args(words))
    name, as_json, no_wait = (options.pop(key) for key in ("name", "json", "no_wait"))
    sys.argv = ["benchmarks", name]  # which whoever waits for the measuring lock is told
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that processes and folders go
    try:
        if no_wait:
            refuse_wait()
        with _alone() if getattr(modules[name], "ALONE", True) else nullcontext():
            found = modules[name].run(**options)
    except WorkshopError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("Interrupted.")
        return 130
    if found is not None:
        print(json.dumps({"bench": name, **found}, indent=1) if as_json else table(found))
    return 0


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the machine for measuring, and say for whom that has to wait."""
    before = ""
    while True:
        with machine_held() as free:
            if free:
                yield
                return
        now = holder()
        if now and now != before:
            say(waiting("Measuring", now))
        before = now
        time.sleep(0.5)


def _parser(modules: dict[str, ModuleType]) -> argparse.ArgumentParser:
    """A command for each bench, with the parameters of its `run` as options."""
    summary = (benchmarks.__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=summary, allow_abbrev=False)
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, module in modules.items():
        about = module.__doc__ or ""
        raw = argparse.RawDescriptionHelpFormatter
        command = commands.add_parser(name, help=about.splitlines()[0], description=about, formatter_class=raw)
        for parameter in inspect.signature(module.run).parameters.values():
            usual = parameter.default
            many = isinstance(usual, tuple)
            kind: Any = type(usual[0] if many else usual)
            shown = " ".join(map(str, usual)) if many else usual
            command.add_argument(
                f"--{parameter.name.replace('_', '-')}",
                type=_number(kind) if kind in (int, float) else kind,
                nargs="+" if many else None,
                default=usual,
                help=f"default: {shown}",
            )
        command.add_argument("--json", action="store_true", help="print one JSON document")
        command.add_argument("--no-wait", action="store_true", help="refuse where somebody else measures here now")
    return parser


def _number(kind: Any) -> Any:
    def read(text: str) -> Any:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"{text} should be above 0")
        return value

    read.__name__ = kind.__name__  # which argparse names in its error
    return read


def table(found: Document) -> str:
    """The machine in one line, then all rows, the ratios with their intervals last."""
    where = found["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines = [(f"{where['model']}, {allowed_cores(where)} cores, load {where['load']}", "", versions)]
    rest = [line for line in found["rows"] if line["unit"] != "ratio"]
    for line in rest:
        value = "-" if line["value"] is None else f"{line['value']:.4g}"
        lines.append((line["name"], value, line.get("note") or line["unit"]))
    for name, value in found["ratios"].items():
        spread = " to ".join(f"{end:.3f}" for end in found["intervals"].get(name, ()))
        lines.append((name, f"{value:.3f}", spread))
    head, *others = lines
    width = max((len(name) for name, _, _ in others), default=0)
    return "\n".join([f"{head[0]}; {head[2]}", *(f"{a:<{width}}  {b:>10}  {c}".rstrip() for a, b, c in others)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
