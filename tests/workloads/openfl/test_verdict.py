"""What a federation over OpenFL says of itself, from what its processes showed and how they ended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.analysis import cases
from workshop.report.failures import failures_of
from workshop.report.verdict import verdict
from workshop.workloads.federated.failures import openfl_failure
from workshop.workloads.openfl import OpenFLParams, command_tables

AUTHORITY = "CN=Simple Signing CA (key 0011aabb)"
LATER = "2027-11-21T10:00:00+00:00"


def certificate(name: str, **changes: Any) -> dict[str, Any]:
    told = {"name": name, "subject": f"CN={name}", "issuer": AUTHORITY, "expires": LATER, "accepted": True, "why": ""}
    return told | changes


def command(words: str, where: str, code: int | None = 0, seconds: float | None = 4.2) -> dict[str, Any]:
    return {"command": words, "where": where, "seconds": seconds, "code": code}


SHOWN = [certificate("aggregator", subject="CN=localhost"), *(certificate(f"institution{one}") for one in (1, 2, 3))]
FAULTS = {one.broken_params["fault"] for one in failures_of("openfl")}
COMMANDS = [
    command("fx plan initialize -a localhost", "aggregator"),
    command("fx aggregator start", "aggregator", seconds=60.0),
    *(command(f"fx collaborator start -n institution{one}", f"institution {one}") for one in (1, 2, 3)),
]


def said(fault: str = "none", **changes: Any) -> dict[str, str]:
    came = {"held_out_score": 0.93, "own_score": 0.95, "images_read": 4000, "held_out": [0.9, 0.93]}
    metrics = {
        "by_way": {"federated": came},
        "ways": ["federated"],
        "institutions": [{"images": 100, "validation": 25, "took_part": 5} for _ in range(3)],
        "rounds": 5,
        "held_out_accuracy": 0.93,
        "own_accuracy": 0.95,
        "seconds_per_round": 2.5,
        "fx": COMMANDS,
        "certificates": SHOWN,
        "faults": [],
    }
    run = cases.run(
        workload="openfl",
        params={"fault": fault, "rounds": 5},
        metrics=metrics | changes,
        started_at=0.0,
        finished_at=70.0,
    )
    return verdict(run, {})


def test_a_federation_in_which_all_is_well() -> None:
    told = said()
    assert told["verdict"] == "3 institutions learned one model over mutual TLS: 93.0 % on held-out images."
    assert "4 certificates of one authority (Simple Signing CA (key 0011aabb)) were shown and accepted" in told["why"]
    assert "After 5 rounds the model has 93.0 % on held-out images and 95.0 % on institutions' own." in told["why"]
    assert "--fault foreign-certificate" in told["next"]
    assert "--backend session" in told["next"]


def test_while_it_goes_on_nothing_is_claimed() -> None:
    told = said(rounds=None, held_out_accuracy=None, own_accuracy=None, seconds_per_round=None, by_way={})
    assert told["verdict"] == "3 institutions learn one model over mutual TLS."
    assert "After" not in told["why"]


REFUSED = [
    (
        {"issuer": "CN=Simple Signing CA (key 99887766)", "why": "unknown authority"},
        "Institution2 was refused: its certificate is of another authority.",
        "Simple Signing CA (key 99887766) has signed it; here only Simple Signing CA (key 0011aabb) is trusted",
        "foreign-certificate",
    ),
    (
        {"subject": "CN=institution1", "why": "the name isn't that of the certificate"},
        "Somebody who claimed to be institution2 was refused: the certificate is that of institution1.",
        "given no task",
        "other-name",
    ),
    (
        {"expires": "1970-01-01T00:10:00+00:00", "why": "certificate has expired"},
        "Institution2 was refused: its certificate was valid until 1970-01-01.",
        "from then on nobody has to believe it",
        "expired-certificate",
    ),
]


@pytest.mark.parametrize(("changes", "reached", "why", "fault"), REFUSED)
def test_who_was_refused_and_why(changes: dict[str, Any], reached: str, why: str, fault: str) -> None:
    told = said(fault, certificates=[*SHOWN[:2], certificate("institution2", accepted=False, **changes), SHOWN[3]])
    assert told["verdict"] == reached
    assert openfl_failure(fault).verdict in told["verdict"], "as the catalogue promises"
    assert why in told["why"]
    assert told["next"] == openfl_failure(fault).fix
    assert "After 5 rounds the model has 93.0 %" in told["why"], "the others went on"


def test_a_guest_that_was_refused_and_ended_has_not_died() -> None:
    guest = certificate("institution1", subject="CN=institution3", accepted=False, why="another name")
    ended = command("fx collaborator start -n institution1", "institution 3 as institution1", -9)
    told = said("other-name", certificates=[*SHOWN, guest], fx=[*COMMANDS, ended])
    assert told["verdict"].startswith("Somebody who claimed to be institution1 was refused")
    assert "died" not in told["why"]


def test_a_refusal_of_another_kind_says_what_was_said() -> None:
    refused = certificate("institution2", accepted=False, why="the handshake timed out")
    told = said(certificates=[*SHOWN[:2], refused])
    assert told["verdict"] == "Institution2 was refused: its certificate was not accepted."
    assert "The handshake timed out." in told["why"]


@pytest.mark.parametrize("code", [-9, 137])
def test_a_collaborator_that_died(code: int) -> None:
    killed = command("fx collaborator start -n institution2", "institution 2", code)
    took_part = [{"images": 100, "validation": 25, "took_part": count} for count in (5, 1, 5)]
    told = said("dies", fx=[*COMMANDS[:3], killed, COMMANDS[4]], institutions=took_part)
    assert told["verdict"] == "Institution 2 died in the middle of the federation."
    assert openfl_failure("dies").verdict in told["verdict"]
    assert "It took part in 1 of 5 rounds." in told["why"]
    assert told["next"] == openfl_failure("dies").fix


def test_an_aggregator_that_was_started_again() -> None:
    told = said("restart", fx=[COMMANDS[0], COMMANDS[1] | {"code": -9}, *COMMANDS[1:]])
    assert told["verdict"] == "The aggregator was started 2 times, and the federation went on."
    assert openfl_failure("restart").verdict in told["verdict"]
    assert "It had ended by signal 9" in told["why"]
    assert told["next"] == openfl_failure("restart").fix


def test_several_things_that_go_wrong_are_all_named() -> None:
    refused = certificate("institution3", accepted=False, issuer="CN=other")
    killed = command("fx collaborator start -n institution2", "institution 2", -9)
    told = said(certificates=[*SHOWN[:3], refused], fx=[*COMMANDS, killed])
    assert told["verdict"].startswith("Institution3 was refused")
    assert "Institution 2 died in the middle of the federation." in told["why"]


def test_a_fault_that_left_no_trace_is_not_claimed() -> None:
    told = said("dies")
    assert told["verdict"].startswith("3 institutions learned one model")
    assert "Nothing of the fault dies is to be seen" in told["why"]


@pytest.mark.parametrize("broken", [{"fx": None}, {"certificates": "none"}, {"fx": []}, {"certificates": [3, None]}])
def test_without_openfl_it_says_nothing(broken: dict[str, Any]) -> None:
    assert "TLS" not in said(**broken)["verdict"]


def test_every_fault_that_can_be_asked_for_is_explained() -> None:
    schema = OpenFLParams.model_json_schema()["properties"]["fault"]
    assert set(schema["enum"]) - {"none"} == FAULTS


def test_cells_of_the_tables() -> None:
    assert command_tables.certificate(SHOWN[1] | {"key": "-----BEGIN PRIVATE KEY-----"}) == [
        "institution1",
        "institution1",
        "Simple Signing CA (key 0011aabb)",
        "2027-11-21",
        "yes",
    ]
    assert command_tables.certificate({"accepted": False, "why": "expired"})[-1] == "no: expired"
    assert command_tables.certificate({})[-1] == "not shown yet"
    assert command_tables.until({"expires": 1_800_000_000}) == "2027-01-15"
    assert command_tables.command(command("fx aggregator start", "aggregator", None, None)) == [
        "aggregator",
        "",
        "runs",
        "fx aggregator start",
    ]
    assert command_tables.command(command("fx x", "institution1", -9))[1:3] == ["4.2 s", "signal 9"]
    assert command_tables.common_name("/C=DE/O=x/CN=inst 1") == "inst 1"
    assert not command_tables.expired(SHOWN[0], 1_800_000_000.0)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
NAMES = ("name", "subject", "issuer", "expires", "accepted", "why", "command", "where", "seconds", "code")


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), ANYTHING), max_size=3), st.sampled_from(["", *sorted(FAULTS)]))
def test_whatever_a_run_left_there_can_be_read(records: list[dict[str, Any]], fault: str) -> None:
    for one in records:
        assert all(isinstance(cell, str) for cell in (*command_tables.certificate(one), *command_tables.command(one)))
    assert said(fault, fx=records, certificates=records)["verdict"]
