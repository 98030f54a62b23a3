"""The page that composes placements: form, prediction and command line follow each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open, figures, switch
from tests.app.test_pages import labels, words
from tests.app.test_studies import tables
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.store.records import Limits, SessionRecord
from workshop.store.store import Store

pytestmark = pytest.mark.real
SAMPLES = Path(__file__).parents[1] / "mpi" / "reports" / "samples"
RUN = "Run k-means on this placement"


def plain(page: AppTest) -> str:
    return words(page).replace("\\", "")


def code(page: AppTest) -> str:
    return "\n".join(block.value for block in page.code)


def field(page: AppTest, label: str) -> Any:
    every = [*page.number_input, *page.text_input, *page.selectbox, *page.text_area, *page.segmented_control]
    return next(one for one in every if one.label == label)


def command(page: AppTest) -> Any:
    return field(page, "Command line")


def test_the_workshop_s_example_is_there_at_once(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    assert "[BB/BB/../..][../../../..]" in tables(page) and "[../../../..][BB/BB/../..]" in tables(page)
    assert field(page, "Hosts").value == "hostA:2,hostB:2,hostC:2"
    for word in ("ppr:1:package:pe=2", "-bind-to core:2", "I_MPI_PIN_DOMAIN", "horovodrun", "#SBATCH --ntasks=6"):
        assert word in code(page)
    assert "-n 6" in command(page).value


def test_the_command_line_follows_the_form(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Cores per rank").set_value(4).run()
    assert "pe=4" in command(page).value
    assert "[BB/BB/BB/BB][../../../..]" in tables(page)


def test_the_form_and_the_picture_follow_the_command_line(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    command(page).set_value("mpirun -n 2 -H hostA:2 --map-by package --bind-to package true").run()
    assert not page.exception
    assert field(page, "Ranks").value == 2
    assert field(page, "Bind to").value == "package"
    assert "[../../../..][BB/BB/BB/BB]" in tables(page)


def test_it_is_still_there_after_another_page(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Machine").set_value("1x8").run()
    field(page, "Hosts").set_value("hostZ:6").run()
    field(page, "Per resource").set_value(6).run()
    field(page, "Cores per rank").set_value(1).run()
    for name in ("history", "placement"):
        switch(page, name)
        page.run()
    assert not page.exception
    assert field(page, "Machine").value == "1x8"
    assert "[./././././B/./.]" in tables(page)


def test_words_that_nobody_understands_are_named(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    command(page).set_value("mpirun -n 2 --frobnicate 3 true").run()
    assert "Not understood, so it is not in the form: --frobnicate" in plain(page)
    assert "--frobnicate" in command(page).value, "what was typed stays until it is mended"
    command(page).set_value("mpirun -n 2 --map-by sockte true").run()
    assert "--map-by sockte; did you mean socket?" in plain(page)
    assert "No map: --map-by sockte decides where ranks run" in plain(page)
    assert "[B" not in code(page)
    assert "sbatch" not in code(page).lower(), "no command would say the same"
    field(page, "Ranks").set_value(1).run()
    assert "Not understood" not in plain(page), "it was about another placement"
    command(page).set_value("mpirun -n many true").run()
    assert page.error
    assert field(page, "Ranks").value == 1


def test_a_refused_placement_has_the_mapper_s_words_and_a_way_out(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Cores per rank").set_value(5).run()
    assert "refuses this placement" in plain(page)
    assert "more processes than the ppr" in code(page)
    next(button for button in page.button if str(button.key).startswith("change-")).click().run()
    assert "refuses" not in plain(page)
    assert "[BB/BB/BB/BB]" in tables(page)


def test_intel_mpi_has_a_map_by_its_rules(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "MPI").set_value("intelmpi").run()
    assert "documented rules, not asked of the MPI" in plain(page)
    assert "[BB" in tables(page)


@pytest.mark.parametrize(("machine", "said"), [("2x", "is not a machine"), ("9x9x9x9", "is not a machine"), ("", "")])
def test_a_machine_that_is_none_says_so(open_page: Open, session: SessionRecord, machine: str, said: str) -> None:
    page = open_page("placement")
    field(page, "Machine").set_value(machine).run()
    assert not page.exception
    assert said in plain(page)


def test_a_machine_from_lstopo_s_text(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "or its text").set_value("<topology><!ENTITY x></topology>").run()
    assert "lstopo" in page.error[0].value
    field(page, "or its text").set_value("/etc/passwd").run()
    assert "is not a machine" in plain(page)


@pytest.mark.parametrize("hosts", ["hostA:2,hostA", "-oProxyCommand=x:2", "a:0", ","])
def test_bad_hosts_are_refused_in_a_sentence(open_page: Open, session: SessionRecord, hosts: str) -> None:
    page = open_page("placement")
    field(page, "Hosts").set_value(hosts).run()
    assert page.error
    assert not page.exception


def test_a_pasted_report_is_drawn_and_compared(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    report = (SAMPLES / "openmpi5-map-three-hosts.txt").read_text()
    field(page, "Report").set_value(report).run()
    assert not page.exception
    assert "Open MPI 5's bindings: 6 ranks" in plain(page)
    assert "every rank ran where it was meant to." in "\n".join(one.value for one in page.success).replace("\\", "")
    field(page, "Report").set_value(report.replace("package[1][core:L4-5]", "package[1][core:L5-6]", 1)).run()
    assert "Rank 1 was meant for cores 4 and 5 of hostA, could run on cores 5 and 6 of hostA" in plain(page)


def test_a_report_of_another_machine_is_drawn_as_it_is(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Report").set_value((SAMPLES / "intel-debug5.txt").read_text()).run()
    assert not page.exception
    field(page, "Report").set_value((SAMPLES / "mpich-eight-units.txt").read_text().replace("11000000", "1" * 40)).run()
    assert "only what it says itself is drawn" in plain(page)
    field(page, "Report").set_value((SAMPLES / "intel-rank-map-three-hosts.txt").read_text()).run()
    assert "hostB: ranks 2, 3" in code(page)
    field(page, "Report").set_value("[a:1] Rank 0 bound to nothing").run()
    assert "Line 1: rank 0 is bound to 'nothing'" in plain(page)


def test_threads_of_another_placement_are_none_of_a_report_s(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")  # 6 ranks of 2 threads
    report = "\n".join(f"[a:1] Rank {rank} bound to package[0][core:L{rank}]" for rank in range(2))
    field(page, "Report").set_value(report).run()
    assert "shared" not in figures(page)[-1]


def test_a_placement_that_fits_is_run(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("placement")
    assert RUN not in labels(page) and "for hosts that the session doesn't have: hostA, hostB and hostC" in plain(page)
    command(page).set_value("mpirun -n 2 --map-by core --bind-to core true").run()
    assert RUN not in labels(page) and "for 2x4x2, which isn't here" in plain(page)
    field(page, "Machine").set_value("this").run()
    command(page).set_value("mpirun -n 2 --map-by core:pe=512 --bind-to core true").run()
    assert RUN not in labels(page) and "it can't be run" in plain(page)
    command(page).set_value("mpirun -n 2 --map-by core --bind-to core true").run()
    next(button for button in page.button if button.label == RUN).click().run()
    assert not page.exception
    (queued,) = store.runs()
    assert queued.placement["map_by"] == "core"


def test_the_mpi_s_own_lines_stay_and_the_machine_is_named_above_them(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    cores = topology.allowed_cores(topology.machine())
    page = open_page("run")
    page.number_input(key="placement-ranks").set_value(3 * cores).run()
    page.selectbox(key="placement-bind_to").set_value("core").run()
    next(button for button in page.button if button.label == "Start the run").click().run()
    first, whose, *own = page.error[0].value.replace("\\", "").split("  \n")
    assert first.startswith(f"This machine has {cores} cores; you placed {3 * cores} ranks. Try ")
    assert whose == "Open MPI refuses this placement, in its own words:" and len(own) > 3, "each line stays one"


def _raise(words: str) -> None:
    raise BadInput(words)


def test_learners_limits_hold(open_page: Open, store: Store, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Machine").set_value("this").run()
    command(page).set_value("mpirun -n 1 -x LD_PRELOAD=/tmp/x.so true").run()
    next(button for button in page.button if button.label == RUN).click().run()
    assert "Learners can't set LD_PRELOAD" in plain(page)
    assert store.runs() == []


def test_without_a_session_everything_but_running_works(open_page: Open) -> None:
    page = open_page("placement", "instructor")
    assert "No session is up" in plain(page)
    assert "[BB/BB/../..]" in tables(page)


def press(page: AppTest, key: str) -> AppTest:
    return page.button(key=key).click().run()


def end(store: Store, run_id: int, verdict: str, **more: Any) -> None:
    store.finish(run_id, "completed", verdict={"verdict": verdict, "why": "Because.", "next": "Mend it."}, **more)


def open_failures(open_page: Open, role: str = "learner") -> AppTest:
    page = open_page("placement", role)
    inner = page._run

    def run(*args: Any, **more: Any) -> AppTest:  # AppTest sends no state of tabs
        page.session_state["place-tab"] = ":material/healing: Guided failures"
        return inner(*args, **more)

    page._run = run  # type: ignore[method-assign]  # a test double
    return page.run()


def test_a_failure_and_its_fix_are_a_click_each_and_then_compared(
    open_page: Open, store: Store, session: SessionRecord
) -> None:
    page = open_failures(open_page)
    assert "shared-core-broken" not in [button.key for button in page.button], "a learner predicts first"
    page.radio(key="failure/shared-core/outcome").set_value("The run takes longer than the fix")
    press(page, "failure/shared-core-keep")
    assert "You guessed **The run takes longer than the fix**." in plain(page)
    press(page, "shared-core-broken")
    assert not page.exception
    (broken,) = store.runs()
    assert (broken.workload, broken.placement["ranks"], broken.placement["oversubscribe"]) == ("kmeans", 3, True)
    press(page, "shared-core-fixed")
    fixed = store.runs()[0]
    assert fixed.placement["ranks"] == 2
    assert "Look for" not in plain(page)
    end(store, broken.id, "Oversubscribed: it is.", metrics={"seconds": {"prepare": 9.0, "fit": 1.5}})
    end(store, fixed.id, "Well balanced.")
    page.run()
    assert "Oversubscribed: it is.** (1.5 s of work) Because." in plain(page)
    assert "Look for:** The picture shows two colours" in plain(page)
    assert "Look for" in plain(open_failures(open_page, "instructor")), "whoever comes later sees it, too"


def test_failures_of_several_hosts_need_such_a_session(open_page: Open, session: SessionRecord) -> None:
    page = press(press(open_failures(open_page), "failure/first-host-look"), "failure/polling-look")
    assert page.button(key="first-host-broken").disabled
    assert not page.button(key="polling-fixed").disabled
    assert "needs a session over several hosts" in plain(page)


def test_a_failure_that_a_learner_may_not_run_says_why(open_page: Open, store: Store, session: SessionRecord) -> None:
    store.update_session(session.id, limits=Limits(ranks=2))
    page = press(press(open_failures(open_page), "failure/shared-core-look"), "shared-core-broken")
    assert "this session allows at most 2" in plain(page)
    assert store.runs() == []


def test_what_is_too_large_to_be_drawn_says_so(open_page: Open, session: SessionRecord) -> None:
    page = open_page("placement")
    field(page, "Hosts").set_value(",".join(f"node{number}:2" for number in range(100))).run()
    assert not page.exception
    assert "These are 64 of 100 hosts." in plain(page)
    command(page).set_value("mpirun -n 2 --map-by core --bind-to core true").run()
    field(page, "Machine").set_value("2x600").run()
    assert "1200 hardware threads is too large to be drawn" in plain(page)
