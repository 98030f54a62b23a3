"""What a federation over OpenFL says of itself, from what its processes showed and how they ended."""

from __future__ import annotations

from typing import Any

from tests.report.analysis import cases
from workshop.report.failures import failures_of
from workshop.report.verdict import verdict
from workshop.workloads.federated.failures import openfl_fix
from workshop.workloads.openfl import OpenFLParams

AUTHORITY = "Simple Signing CA (key 0011aabb)"
LATER = 1_800_000_000.0


def certificate(name: str, **changes: Any) -> dict[str, Any]:
    told = {"name": name, "subject": name, "issuer": AUTHORITY, "expires": LATER, "accepted": True, "why": ""}
    return told | changes


def command(words: str, where: str, code: int | None = 0, seconds: float | None = 4.2) -> dict[str, Any]:
    return {"command": words, "where": where, "seconds": seconds, "code": code}


SHOWN = [certificate("aggregator", subject="localhost"), *(certificate(f"institution{one}") for one in (1, 2, 3))]
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
    assert told["verdict"] == "3 institutions learned one model over mutual TLS."
    assert "4 certificates of one authority (Simple Signing CA (key 0011aabb)) were shown and accepted" in told["why"]
    assert "After 5 rounds the model has accuracy 93 % on held-out images and 95 % on institut" in told["why"]
    assert "--fault foreign-certificate" in told["next"]


def test_a_foreign_certificate_is_refused() -> None:
    other = "Simple Signing CA (key 99887766)"
    guest = certificate("stranger", accepted=False, issuer=other, why="TLS")
    ended = command("fx collaborator start -n stranger", "a stranger", -15)
    told = said("foreign-certificate", certificates=[*SHOWN, guest], fx=[*COMMANDS, ended])
    assert told["verdict"] == "Stranger was refused: its certificate is of another authority."
    assert f"{other} has signed it; here only {AUTHORITY} is trusted" in told["why"]
    assert "After 5 rounds the model has accuracy 93 %" in told["why"], "the others went on"
    assert told["next"] == openfl_fix("foreign-certificate")


def test_a_collaborator_that_died() -> None:
    killed = command("fx collaborator start -n institution2", "institution 2", -9)
    took_part = [{"images": 100, "validation": 25, "took_part": count} for count in (5, 1, 5)]
    told = said("dies", fx=[*COMMANDS[:3], killed, COMMANDS[4]], institutions=took_part)
    assert told["verdict"] == "Institution 2 died in the middle of the federation."
    assert "It took part in 1 of 5 rounds." in told["why"]
    assert told["next"] == openfl_fix("dies")


def test_a_fault_that_left_no_trace_is_not_claimed() -> None:
    assert said("dies")["verdict"].startswith("3 institutions learned one model")


def test_every_fault_that_can_be_asked_for_is_explained() -> None:
    schema = OpenFLParams.model_json_schema()["properties"]["fault"]
    assert set(schema["enum"]) - {"none"} == {failure.broken_params["fault"] for failure in failures_of("openfl")}
