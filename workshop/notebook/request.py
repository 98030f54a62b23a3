"""A run from a notebook: the names in its call, which are settings of a workload and fields of a placement, and its
progress."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike, fspath
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import going_on
from workshop.core.placement import Host, Placement, hosts_from
from workshop.extension import Workload
from workshop.mpi.implementations import implementation
from workshop.mpi.reader.parsed_options import mapping_fields
from workshop.notebook.display import MACROS, StatusLine
from workshop.registry import workload_title, workloads
from workshop.report import html
from workshop.report.actions import OPTIONS
from workshop.report.activity import ActivityReader
from workshop.report.run_sections import turn
from workshop.report.sentences import STATUS, state_words, unit_of, value_words
from workshop.sessions import client
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

FIELDS = tuple(Placement.model_fields)
ALIASES = {"env": "environment"}  # as the command line has it

_BARE = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?")
_SWITCH = {"yes": "True", "no": "False"}
FLAGS = ("measured", "oversubscribe", "weak")  # options that take no value


def parted(chosen: Workload, names: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params of a workload and the fields of a placement, out of names of both. Raises BadInput for a name that is
    neither, with the one that it is likely to mean."""
    params, fields = {}, {}
    model_fields = chosen.params.model_fields
    for name, value in names.items():
        field = ALIASES.get(name, name)
        if name in model_fields:
            params[name] = param(model_fields[name], value)
        elif field in FIELDS:
            fields[field] = value
        else:
            raise unknown(name, (*model_fields, *FIELDS), f"a setting of {chosen.name} or of its placement")
    return params, placing(fields)


def unknown(name: str, names: Iterable[str], what: str) -> BadInput:
    """The sentence for a name that there isn't."""
    return BadInput(f"{name} is not {what}; {words.nearest(name, names)}")


def placing(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a placement as notebooks write them, as `Placement.parse` reads them. Raises BadInput."""
    read = {name: plain(value) for name, value in fields.items()}
    if isinstance(read.get("mpi"), str):
        read["mpi"] = implementation(read["mpi"]).name
    if isinstance(hosts := read.get("hosts"), str):
        hosts = hosts_from(hosts)
    if isinstance(hosts, Sequence):  # each is like 'hostA:2', a `Host` or a mapping
        several = ([host] if isinstance(host, Mapping | Host) else hosts_from(str(host)) for host in hosts)
        read["hosts"] = [dict(host) for part in several for host in part]
    if isinstance(read.get("map_by"), str):
        read |= mapping_fields(read["map_by"], f"map_by {read['map_by']}")
    if isinstance(variables := read.get("environment"), Mapping):
        read["environment"] = {str(name): str(plain(value)) for name, value in variables.items()}
    return read


def on_top(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A placement's fields, replaced by another placement's; variables of both are kept."""
    variables = {**(base.get("environment") or {}), **(fields.get("environment") or {})}
    return {**base, **fields, "environment": variables}


def param(field: FieldInfo, value: Any) -> Any:
    """A value as the workload's model takes it: numbers of NumPy as Python's, paths and runs as text; where text is
    wanted a number is written, and a list with commas."""
    value = plain(value)
    union = get_origin(field.annotation) in (Union, UnionType)
    if str not in (get_args(field.annotation) if union else (field.annotation,)):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(str(plain(item)) for item in value)
    return value


def plain(value: Any) -> Any:
    """A value without what notebooks have and forms don't."""
    if isinstance(value, PathLike):
        return fspath(value)
    if (number := getattr(value, "run_number", None)) is not None:  # a run, for instance to go on from
        return str(number)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of NumPy
        return value.item()
    return value


def in_python(text: str) -> str:
    """Advice for notebooks: the command line's (--ranks 2) becomes (ranks=2)."""
    return OPTIONS.sub(lambda match: f"({', '.join(_named(match[1].replace(',', ' ').split()))})", text)


def _named(words: list[str]) -> Iterator[str]:
    variables: dict[str, str] = {}
    while words:
        name = words.pop(0).removeprefix("--").replace("-", "_")
        value = words.pop(0).rstrip(",") if words and not words[0].startswith("--") else None
        if value is None:
            yield f"{name}=True" if name in FLAGS else name
        elif name == "env":
            variable, _, value = value.partition("=")
            variables[variable] = value
        else:
            yield f"{name}={_SWITCH.get(value, value if _BARE.fullmatch(value) else repr(value))}"
    if variables:
        yield f"environment={variables}"


ENDS = 30.0  # seconds within which a run that was cancelled has ended
ATTACH = "session = workshop.attach()"
NEW = 20_000  # events that are looked through at once for the latest values


class CellStopped(KeyboardInterrupt):
    """The stop button, with one sentence on what it has ended. The rest of the cell isn't run."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def submit(
    store: Store,
    session: SessionRecord,
    chosen: Workload,
    params: Mapping[str, Any],
    fields: Mapping[str, Any],
    identity: Identity | None,
    measured: bool = False,
) -> RunRecord:
    """Queue a run, whose placement adds to the session's. A run that goes on from an earlier one has that one's params
    and placement. Raises BadInput."""
    base, values = session.placement, dict(params)
    if earlier := client.gone_on_from(store, chosen, values):
        values = {**going_on(chosen.params, earlier.params), **values}
        base = {**earlier.placement, "hosts": ()}
    placement = on_top(base, fields)
    return client.submit(store, session, chosen.name, values, placement, identity=identity, measured=measured)


def follow(store: Store, run: RunRecord, status: StatusLine) -> RunRecord:
    """Wait for a run's end and show how far it is. Raises CellStopped where somebody presses the stop button, which
    cancels the run, and WorkshopError where its session is gone."""
    latest = Latest(store, run)

    def look(now: RunRecord) -> None:
        if not now.ended:
            status.update(*_going_on(store, now, latest))

    try:
        return client.wait(store, run.id, look)
    except KeyboardInterrupt:
        raise stop(store, run, status) from None
    except WorkshopError as error:
        status.say(f"Run {run.id} is not done.")
        raise WorkshopError(f"{error} Or go on elsewhere: `{ATTACH}`.") from None


def stop(store: Store, run: RunRecord, status_line: StatusLine) -> CellStopped:
    """Cancel a run, and wait until it has ended; returns what to raise."""
    status_line.say(f"Run {run.id} is being cancelled.")
    with suppress(BadInput):  # it may have ended just now
        client.cancel(store, run.id)
    try:
        status = client.wait(store, run.id, timeout=ENDS).status
    except WorkshopError as error:
        sentence = f"Run {run.id} was asked to end: {error}"
    else:
        sentence = f"Run {run.id} was stopped: it is {status}. The rest of the cell was not run."
    status_line.say(sentence)
    return CellStopped(sentence)


def dashboard(path: str) -> str | None:
    """The address of one of the dashboard's pages, where this notebook was told of one."""
    address = os.environ.get("WORKSHOP_DASHBOARD", "").rstrip("/")
    return f"{address}{path}" if address.startswith(("http://", "https://", "/")) else None


class Latest:
    """The newest values of the events that a workload draws; reads only new ones."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        workload = workloads().get(run.workload)
        self._store, self._run = store, run.id
        self.activity = ActivityReader(store)
        self._names = workload.curves if workload else ()
        self._after = 0
        self._values: dict[str, float] = {}

    def look(self) -> Iterable[tuple[str, str]]:
        """Names and values as words, the most important first."""
        newest = self._store.last_event_id(self._run)
        if newest > self._after:
            after = max(self._after, newest - NEW)
            for event in self._store.events(self._run, self._names or None, rank=0, after=after, limit=NEW):
                if math.isfinite(event.value) and (self._names or not event.name.startswith("time.")):
                    self._values[event.name] = event.value
            self._after = newest
        order = self._names or sorted(self._values)
        values = [(name, value_words(self._values[name], unit_of(name))) for name in order if name in self._values]
        return [(name, value) for name, value in values if value is not None][:3]


def progress_share(run: RunRecord) -> float:
    """How much of a run is done; 0 where it hasn't said so."""
    done, total = run.progress or (0, 0)
    return min(max(done / total, 0.0), 1.0) if total > 0 else 0.0


def _going_on(store: Store, run: RunRecord, latest: Latest) -> tuple[str, str]:
    """A run that hasn't ended, in words and as HTML."""
    title = f"Run {run.id}: {workload_title(run.workload)} on {Placement.parse(run.placement).describe()}"
    if run.status == "queued":
        waits = f"{turn(store, run)} {state_words(store.session(run.session_id))}"
        return f"{title}: waiting. {waits}", html.box(f"{html.line(title)}{html.muted(f'Waiting. {waits}')}")
    state = latest.activity.words(run) or STATUS[run.status]
    if share := progress_share(run):
        state = f"{state} · {words.percent(share)}"
    metrics = ", ".join(f"{name} {value}" for name, value in latest.look())
    state += f" · {metrics}" if metrics else ""
    return f"{title}: {state}", html.box(MACROS.going_on(title, state, share or None))
