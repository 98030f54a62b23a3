"""Each rule of the workshop's own has been reached by a run, and names only facts that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import meta

from tests.report.analysis.cases import machine, rank_map, run, times, trained
from tests.report.test_verdict import COMPLETED
from tests.report.training.test_outcome import LATE
from tests.report.training.test_recipe import BROKEN
from tests.workloads.elastic import test_report as elastic
from tests.workloads.inversion import test_verdict as inversion
from tests.workloads.openfl import test_verdict as openfl
from tests.workloads.quantisation import test_report as quantisation
from tests.workloads.regression import test_report as regression
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import load
from workshop.registry import workloads
from workshop.report import rules
from workshop.report.analysis.findings import facts
from workshop.report.verdict import verdict
from workshop.store.records import RunRecord
from workshop.workloads.hangs.diagnosis import KINDS

PACKAGES = sorted({rules.GENERAL, *(workload.rules for workload in workloads().values() if workload.rules)})
EVEN = times([1.2, 1.2], [0.15, 0.15], [0.03, 0.03])
SLOW = {"input": [0.0] * 2, "compute": [1.0] * 2, "communicate": [1.5] * 2, "wait": [0.0] * 2}
TURNS = {"input": [0.0] * 2, "compute": [1.0] * 2, "communicate": [0.1] * 2, "wait": [0.3] * 2}
MISSED = {"time_to_target": None, "held_out_accuracy": 0.1, "first_loss": 2.3}
CUT = {"bytes_per_step": 1500.0, "grid": "pipeline 2", "rate": 120.0, "bytes_difference": 0, "calls_difference": 0}
IDLE = CUT | {"idle": 0.5, "rank_seconds": [0.02, 0.02], "expected_idle": 0.4}
UNEVEN = IDLE | {"rank_seconds": [0.01, 0.03]}
CROWDED = {"rank_map": rank_map([0, 1], [0, 1], [0, 1]), "machine": machine(2), "placement": {"ranks": 3}}
ALL_REDUCE = {"sizes": [4, 1024], "seconds": {"own": [1e-5, 2e-5]}}
STEP = dict.fromkeys(("input", "compute", "stragglers", "exchange", "evaluation", "checkpoint"), 0.1) | {"step": 0.6}
ROUNDS = {"total": 40.0, "total_deviation": 1.0, "per_rank": 20.0, "per_rank_deviation": 0.5}

# Facts that no such run tells, since it measured no checkpoint.
CHECKPOINTS = {"checkpoint_blocked", "checkpoint_processor", "young", "young_steps"}

WAY = {"held_out_score": 0.9, "own_score": 0.9, "images_read": 400}
FEDERATED = {"by_way": {"federated": WAY}, "institutions": [{"images": 100}] * 3, "rounds": 5, "held_out_images": 100}
REFUSED = openfl.certificate("stranger", accepted=False, issuer="another")
KILLED = openfl.command("fx collaborator start", "institution 2", -9)
COST = {"seconds_blocked": 0.01, "seconds_processor": 0.1, "written": 2, "left_out": 0, "interval_steps": 5}
WRITTEN = {"checkpoints": COST, "updates": 60, "seconds": {"train": 3.0}}


def cases() -> Iterator[tuple[RunRecord, dict[str, Any]]]:
    """Runs that reach the rules together."""
    yield from ((record, totals) for record, totals, *_ in COMPLETED.values())
    yield from ((record, EVEN) for record, *_ in BROKEN.values())
    yield run(placement={"ranks": 2, "hosts": [{"name": "laptop"}, {"name": "b"}]}), EVEN
    yield run(**CROWDED | {"placement": {"ranks": 3, "mpi": "mpich"}}), EVEN
    yield run(), times([1.0, 1.0], [1.0, 1.0])
    yield trained(3, LATE), {}
    yield trained(3, LATE | {"last": [40, 20, 40], "late_by": [0.0001, 0.1, 0.0001]}), {}
    yield trained(2, {"phases": SLOW, "bytes_per_step": 9_000_000}), {}
    yield trained(2, {"phases": TURNS, "late_by": [0.003] * 2}), {}
    yield trained(2, {"evaluations": 9, "seconds": {"train": 1.0, "evaluate": 1.0}}, evaluate_every=1), {}
    yield trained(2, {"loss": 2.9}), EVEN | {"loss": EVEN["time.compute"] | {0: EVEN["time.compute"][0]}}
    yield trained(2, MISSED | {"highest_loss": 9.0}), EVEN
    yield trained(2, MISSED | {"highest_loss": 2.3}), EVEN
    for name in ("broadcast", "shard", "divide", "average"):
        record = trained(2, {}, **{name: False})
        yield RunRecord(**vars(record) | {"status": "running", "metrics": {"exchange": "mpi"}}), {}
    for workload, metrics, changes in (
        ("allreduce", ALL_REDUCE, {}),
        ("allreduce", ALL_REDUCE | {"spread": {"own": [9.0, 1.0]}}, {}),
        ("allreduce", ALL_REDUCE, {"rank_map": rank_map([0]), "placement": {"ranks": 1}}),
        ("allreduce", {"sizes": [4], "seconds": {"barrier": [1e-6]}}, {}),
        ("parallel", CUT, {}),
        ("parallel", CUT, {"params": {"fault": "no-gather", "zero": 1}}),
        ("parallel", IDLE, {}),
        ("parallel", IDLE, {"params": {"schedule": "naive"}}),
        ("parallel", UNEVEN, {}),
        ("parallel", IDLE, CROWDED),
        ("training-step", {"seconds": STEP, "examples_per_second": 9.0}, {}),
        ("resnet", {"rounds": ROUNDS, "model": "ResNet50"}, {}),
        ("elastic", elastic.METRICS | WRITTEN, {"params": {"kill": "random:30"}}),
        ("quantisation", quantisation.METRICS, {}),
        ("regression", regression.METRICS, {}),
        ("inversion", {"pictures": [inversion.GOOD], "labels_right": 1}, {}),
        ("one-processor", {"images_per_second": 9.0}, {}),
        (
            "hang",
            {"kind": next(iter(KINDS)), "ranks": [0], "seconds": {"still": 9.0}, "sentence": "It.", "fix": "That."},
            {},
        ),
        ("hang", {"kind": ""}, {}),
        ("federated", FEDERATED, {}),
        ("federated", FEDERATED | {"by_way": dict.fromkeys(("federated", "centralised", "alone"), WAY)}, {}),
        ("federated", FEDERATED | {"attackers": [1], "rule": "mean"}, {}),
        ("federated", FEDERATED | {"dropped": [{"institution": 1, "round": 2}]}, {}),
        ("federated", FEDERATED | {"dropped": [{"institution": 1, "round": 2}]}, {"params": {"way": "alone"}}),
        ("federated", FEDERATED | {"loss": 99.0}, {}),
        ("federated", FEDERATED, {"params": {"privacy": "institutions"}}),
        ("federated", FEDERATED | {"epsilon": 3.0}, {"params": {"privacy": "institutions", "delta": 1e-5}}),
        ("federated", FEDERATED | {"rule": "median"}, {}),
        ("openfl", FEDERATED | {"certificates": openfl.SHOWN}, {}),
        ("openfl", FEDERATED | {"certificates": [*openfl.SHOWN, REFUSED]}, {}),
        ("openfl", FEDERATED | {"certificates": openfl.SHOWN, "fx": [KILLED]}, {}),
        *((name, {"exchange": "mpi", "updates": 9}, {}) for name in ("unet", "sgan")),
    ):
        yield run(workload=workload, metrics=metrics, **{"params": {}} | changes), {}


def rules_for(record: RunRecord) -> rules.Rules:
    workload = workloads().get(record.workload)
    return rules.read(workload.rules if workload is not None and workload.rules else rules.GENERAL)


def findings(known: rules.Rules) -> list[rules.Rule]:
    return [*known.faults, *known.outcome, *known.checks, *known.otherwise]


def test_each_rule_is_reached() -> None:
    reached = set()
    for record, totals in cases():
        known = rules_for(record)
        named = rules.context(known, facts(record, totals), totals)
        first = [next(rules.holding(some, named), None) for some in (known.outcome, known.otherwise)]
        held = [*rules.holding(known.faults, named), *rules.holding(known.checks, named), *filter(None, first)]
        reached |= {(rule.verdict, rule.why, rule.next) for rule, _ in held}
    own = [rule for package in PACKAGES for rule in findings(rules.read(package))]
    assert [rule.when for rule in own if (rule.verdict, rule.why, rule.next) not in reached] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_rules_name_facts_that_exist(package: str) -> None:
    known, names = rules.read(package), set(CHECKPOINTS)
    files = [known]
    while files[-1].based_on:
        files.append(rules.read(files[-1].based_on))
    names |= {name for file in files for name in file.sentences}
    for record, totals in cases():
        told, mine = facts(record, totals), rules_for(record)
        if package in (rules.GENERAL, mine.based_on) or mine is known:
            own = [load(file.facts)(told, totals) for file in files if file.facts]
            names |= {name for told_names in (told.named(), *own) for name in told_names}
    texts = [text for rule in findings(known) for text in (rule.verdict, *rule.why, rule.next)]
    texts += [*known.sentences.values(), *known.remarks, *(f"{{{{ {rule.when} }}}}" for rule in findings(known))]
    assert {name for text in texts for name in meta.find_undeclared_variables(rules.ENVIRONMENT.parse(text))} <= names


OF_COMMANDS = {"resume", "hosts", "oversubscribe"}  # options of workshop run that are no settings


def line_of(package: str) -> list[str]:
    """A package with those that its rules are based on."""
    return [package, *line_of(rules.read(package).based_on)] if package else []


@pytest.mark.parametrize("package", PACKAGES)
def test_recommended_options_are_settings_of_workloads_with_these_rules(package: str) -> None:
    users = [workload for workload in workloads().values() if package in line_of(workload.rules or rules.GENERAL)]
    settings = {name for workload in users for name in workload.params.model_fields} | set(Placement.model_fields)
    known = rules.read(package)
    inherited = {rule.next for base in line_of(package)[1:] for rule in findings(rules.read(base))}
    texts = [*({rule.next for rule in findings(known)} - inherited), *known.sentences.values()]
    named = {name.replace("-", "_") for text in texts for name in re.findall(r"--([a-z][a-z-]+)", text)}
    assert named - settings - OF_COMMANDS == set()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("outcome: [{when: ranks >, verdict: a, next: b}]", "nothing that Jinja2 can read"),
        ("outcome: [{wen: ranks, verdict: a, next: b}]", "wen is not one of its settings"),
        ("outcome: [{verdict: a}]", "next is missing"),
        ("checks: [{use: nothing}]", "uses a check 'nothing'"),
        ("outcome: [", "is no YAML"),
    ],
)
def test_a_file_that_is_wrong_is_named(text: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_rules").mkdir()
    (tmp_path / "broken_rules" / "__init__.py").touch()
    (tmp_path / "broken_rules" / "rules.yaml").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "broken_rules", raising=False)
    with pytest.raises(BadInput, match=wrong) as told:
        rules.read("broken_rules")
    assert str(tmp_path) in str(told.value)


def test_what_a_run_does_not_tell_is_false_and_left_out() -> None:
    assert not rules.holds("metrics.loss > 1 or metrics.loss", {"metrics": {}})
    assert rules.holds("metrics.loss != 1 and not metrics.loss", {"metrics": {}})
    assert not rules.holds("metrics.seconds.train is defined", {"metrics": {}})
    assert rules.say("Lost {{ metrics.loss }}.", {"metrics": {}}) is None
    assert verdict(run(metrics={"weights": 1, "spread": "?", "updates": "many"}, workload="mnist"), {})["verdict"]
