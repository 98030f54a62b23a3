"""Edits a placement: machine, form and command line, which follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import streamlit as st

from workshop.core import machines
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import Host, Placement, hosts_from
from workshop.mpi import command_lines
from workshop.mpi.implementations import IMPLEMENTATIONS, read_placement
from workshop.mpi.mapper import Prediction
from workshop.mpi.reader import parse, suggestion
from workshop.report.sentences import dumps
from workshop.web.pages import frame
from workshop.web.pages.fields import choice, model_form

MACHINE = "2x4x2"
EXAMPLE = Placement(
    ranks=6,
    hosts=tuple(Host(name=name, slots=2) for name in ("hostA", "hostB", "hostC")),
    map_by="package",
    per_resource=1,
    cores_per_rank=2,
)
EXAMPLES = {
    "2x4x2": "two packages of four cores with two hardware threads each",
    "1x8,l3=2": "one package of eight cores, of which each half shares a cache",
    "2x8,numa=2": "two packages of two NUMA nodes each",
    "this": "the machine that this dashboard runs on",
}
FOLDED = ("oversubscribe", "environment")


@dataclass(frozen=True)
class Composition:
    """The values of the form."""

    described: MachineDescription
    machine: str  # the text that describes it
    placement: Placement

    @property
    def digest(self) -> str:
        return sha256(dumps([self.machine, self.placement.as_json()]).encode()).hexdigest()[:12]

    @property
    def message(self) -> Mapping[str, Any]:
        """The page's message on the command line that was typed for this placement; empty for any other."""
        message: Mapping[str, Any] = st.session_state.get("place-said") or {}
        return message if message.get("about") == self.placement else {}


def take(placement: Placement) -> None:
    """Restart the form with this placement."""
    st.session_state["placement"] = placement.as_json()
    st.session_state["place-turn"] = st.session_state.get("place-turn", 0) + 1


def form() -> Composition | None:
    """The form's values. None where they can't be used; the page says why."""
    described, text = _machine()
    key = f"place-{st.session_state.get('place-turn', 0)}"
    if f"{key}-hosts" not in st.session_state:  # a form that is new, or that is there again after another page
        st.session_state["place-given"] = st.session_state.get("placement", EXAMPLE.as_json())
    start_values = st.session_state["place-given"]
    hosts = st.text_input(
        "Hosts",
        ",".join(f"{host['name']}:{host['slots']}" for host in start_values["hosts"]),
        key=f"{key}-hosts",
        placeholder="one host, without a name",
        max_chars=8000,
        help="Hosts and how many ranks each takes, like hostA:2,hostB:2. All of them are such machines.",
    )
    titles = {name: mpi_class.title for name, mpi_class in IMPLEMENTATIONS.items()}
    mpi = choice("MPI", titles, start_values["mpi"], f"{key}-mpi")
    try:
        values, _ = model_form(Placement, start_values, key, advanced=FOLDED, hidden=("mpi", "hosts"))
        values["mpi"] = mpi
        values["hosts"] = hosts_from(hosts) if hosts.strip() else ()
        placement = read_placement(values)
        st.session_state["placement"] = placement.as_json()  # outlives the widgets
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return None
    return Composition(described, text, placement) if described is not None else None


def _machine() -> tuple[MachineDescription | None, str]:
    """The machine that is asked about, and its text; none, with the reason on the page, where it can't be read."""
    st.session_state.setdefault("place-machine", st.session_state.get("machine", MACHINE))

    def example() -> None:
        if picked := st.session_state["place-example"]:
            st.session_state["place-machine"] = picked
            st.session_state["place-example"] = None

    text = st.text_input(
        "Machine",
        key="place-machine",
        max_chars=200,
        help="Packages x cores of each x hardware threads of each core; numa= and l3= say how many NUMA nodes and "
        "caches each package has. It need not exist.",
    )
    st.session_state["machine"] = text
    st.pills("Examples", list(EXAMPLES), key="place-example", on_change=example, label_visibility="collapsed")
    notes = st.container()
    with st.expander("A machine of yours, described by lstopo"):
        st.markdown("`lstopo machine.xml` writes a machine's description, `lstopo --of xml -` prints it.")
        file = st.file_uploader("Its file", ["xml"], key="place-file")
        pasted = st.text_area("or its text", key="place-xml", height=90, max_chars=1_000_000)
    try:
        uploaded = file.getvalue().decode(errors="replace") if file is not None else ""
        xml = uploaded or pasted.strip()
        described = read_machine(xml or text)
    except BadInput as error:
        st.error(frame.plain(str(error)))
        return None, text
    if xml:
        notes.caption(
            f"This is {frame.plain(described.name)}. Take its description out to have {frame.plain(text)} again."
        )
    elif text in EXAMPLES:
        notes.caption(EXAMPLES[text].capitalize() + ".")
    return described, xml or text


@st.cache_data(max_entries=64, show_spinner=False)
def read_machine(text: str) -> MachineDescription:
    return machines.read(text)


def commands(composed: Composition, prediction: Prediction) -> None:
    """The command line to edit, and the commands of all tools to copy."""
    written = command_lines.commands(composed.placement, composed.described, prediction)
    _edited(composed, written.get(composed.placement.mpi, ""))
    titles = command_lines.titles()
    if not written:
        return
    for tab, tool in zip(st.tabs([titles[tool] for tool in written]), written, strict=True):
        with tab:
            st.code(written[tool], language="bash", wrap_lines=True)


def _edited(composed: Composition, text: str) -> None:
    """A command line that the form follows. The page names words that nobody understands."""
    key = f"command-{composed.digest}"

    def read() -> None:
        st.session_state["place-said"] = _read(st.session_state[key], composed)

    lines = [line for line in text.splitlines() if not line.startswith("#")]
    message = composed.message
    # Whoever typed a wrong word mends it: the command line stays as it was typed.
    typed = message.get("typed")
    with st.container(key="place-command"):
        st.text_area(
            "Command line",
            typed or "\n".join(lines),
            key=key,
            on_change=read,
            height="content",
            max_chars=20_000,
            help="Edit it, or paste a command of yours (mpirun, mpiexec, mpirun_rsh, horovodrun, an sbatch script). "
            "The form follows.",
        )
    if message:
        (st.error if message["wrong"] else st.warning)(frame.plain(message["words"]))


def _read(text: str, composed: Composition) -> dict[str, Any] | None:
    """Have the form follow a command line. Returns messages, and the MPI whose form shows them."""
    try:
        parsed = parse(text, composed.placement, composed.described)
    except WorkshopError as error:
        return {"about": composed.placement, "wrong": True, "words": str(error)}
    take(parsed.placement)
    if not parsed.unknown:
        return None
    unknown = ", ".join(parsed.unknown)
    words = f"Not understood, so it is not in the form: {unknown}{suggestion(unknown)}"
    return {"about": parsed.placement, "wrong": False, "words": words, "typed": text, "unknown": parsed.unknown}
