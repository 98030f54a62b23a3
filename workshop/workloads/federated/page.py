"""The page Three ways to learn, then attacks, leaks and protection. `?study=3` links to a
study."""

from __future__ import annotations

import streamlit as st

from workshop.core import words
from workshop.registry import workloads
from workshop.report.failures import failures_of
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import runner
from workshop.study.cards import settings
from workshop.study.estimate import remaining_work, seconds_each
from workshop.web.pages import blocks, cards, frame, links, predictions, studies
from workshop.web.pages.guided_failures import guided_failures
from workshop.web.pages.studies import EVERY, chosen, download, follow, left_words, live, read_report
from workshop.workloads.federated.study import plan
from workshop.workloads.federated.study.kind import ASKS, WaysReport, answer
from workshop.workloads.federated.study.plan import KIND, MEASURES, SEEDS

WORDS = (
    "Hospitals may not pool their patients' images, and none of them has enough alone. Here several institutions learn "
    "the same model in three ways: from **pooled** images, each **alone**, and **federated**, where they send what "
    "they have learned and keep the images. Predict how far apart the three come out, run them with several seeds, "
    "watch them round by round, and explain; then attack it, protect it, and run a real federation with keys and "
    "certificates."
)
RECENT = 20  # studies to choose from
INVERSION = (
    "Institutions send updates, not images. Does an update hide its image? A curious aggregator tries to reconstruct "
    "the image from an update."
)
SEGMENTATION = (
    "The same three ways with a U-Net that outlines tumours in synthetic scans of two channels, CT-like and PET-like; "
    "every institution has a scanner of its own. Its runs' pages draw the outlines over the images."
)
OPENFL = (
    "The same images, model and rounds as a federation of separate processes: an authority signs certificates, "
    "institutions and aggregator show them to each other, and speak over TLS. It needs an environment of its own, "
    "installed once, and takes some minutes; rounds arrive on its run's page."
)


def page() -> None:
    """Draw the page Three ways to learn."""
    identity = frame.heading("Three ways to learn", WORDS)
    session = frame.choose_session()
    study = chosen(frame.store().studies(kind=KIND, limit=RECENT), KIND, "three ways", "one of three ways")
    if study is None or st.query_params.get("new"):
        form(session, identity)
    else:
        head(study, session, identity)
        if ask(study, identity):
            see(study, identity)
            explain()
        if not live(study):
            follow(study)
    _further(session, identity)


def _further(session: SessionRecord | None, identity: Identity) -> None:
    """Draw the parts of the lab that follow the three ways."""
    st.markdown("### Further")
    with st.container(border=True, key="federated-attack"):
        st.markdown("#### :material/security: Attack and protect")
        guided_failures(session, identity, failures_of("federated", "openfl"))
    left_column, right_column = st.columns(2, gap="medium")
    with left_column, st.container(border=True, key="federated-inversion"):
        st.markdown("#### :material/image_search: What an update gives away")
        st.markdown(INVERSION)
        _commands(identity, "inversion", "workshop run inversion", "workshop run inversion --images 8")
    with right_column, st.container(border=True, key="federated-segmentation"):
        st.markdown("#### :material/radiology: Tumours in scans")
        st.markdown(SEGMENTATION)
        _commands(
            identity,
            "segmentation",
            "workshop run segmentation --way all",
            "workshop study run ways --workload segmentation --seeds 3",
            "workshop study run file labs/federated/studies/modalities.yaml",
        )
    with st.container(border=True, key="federated-openfl"):
        st.markdown("#### :material/vpn_key: A real federation, over OpenFL")
        st.markdown(OPENFL)
        start = "workshop federation start --collaborators 3"
        _commands(
            identity, "openfl", "workshop federation install  # once", start, "workshop federation status", form=False
        )


def _commands(identity: Identity, workload: str, *commands: str, form: bool = True) -> None:
    """Draw the newest run of a workload and a link to its form, and for the instructor commands to type."""
    if identity.role == "instructor":
        st.code("\n".join(commands), language="bash", wrap_lines=True)
    latest = frame.store().runs(workload=workload, limit=1)
    with st.container(horizontal=True):
        for run in latest:
            links.run_link(run.id, f"Run {run.id} · {run.status}")
        if form and workload in workloads():
            links.link("run", "Set one up", ":material/play_circle:", {"workload": workload})
    if not latest:
        st.caption("Nobody has run it yet.")
    elif latest[0].verdict:
        st.markdown(f"**{frame.plain(latest[0].verdict['verdict'])}**")


AGAINST = {"centralised": "Behind pooled images", "alone": "Above each alone"}
WHERE = "The instructor starts the runs; what they learn appears here by itself, round by round."
EXPLAIN = (
    "**Why federated learning comes close.** An update says in which direction the weights should go for an "
    "institution's images. Averaged over institutions, weighted by their images, that is nearly the direction for all "
    "images together, as long as nobody goes far before the next average.",
    "**Why alone looks good at home.** An institution that has few kinds of image has an easy task there, and its own "
    "validation images are as one-sided as those it learns from. Held-out images have all kinds.",
    "**What this doesn't show.** Updates are not images, but they are made of them: the parts below recover a digit "
    "from one, and then protect it.",
)


def form(session: SessionRecord | None, identity: Identity) -> None:
    """Draw the instructor's form, or a note for learners that they have to wait."""
    if identity.role != "instructor":
        links.unprepared("the three ways", "federated", "federated")
        return
    tasks = {name: workloads()[name] for name in MEASURES if name in workloads()}
    with st.container(border=True, key="federated-begin"), blocks.errors():
        st.markdown("#### Prepare the three ways")
        st.markdown("Nothing is run before you say so: first the class predicts what will come out.")
        name = st.segmented_control(
            "Task", list(tasks), default=next(iter(tasks)), required=True, format_func=lambda task: tasks[task].title
        )
        chosen = tasks[name]
        planned = plan.checked(frame.store(), chosen, {}, SEEDS, session)
        each, why = seconds_each(frame.store(), chosen.name, planned.params)
        runs, in_all = len(planned.cells), words.long(len(planned.cells) * each)
        st.markdown(f"**{runs} runs**, about **{in_all}** in all ({frame.plain(why)}).")
        if st.button("Prepare it", type="primary", icon=":material/diversity_3:"):
            studies.begin(lambda: runner.begin(frame.store(), planned, identity.nickname), identity)
        links.link("studies", "Prepare it with other settings", ":material/tune:", {"new": "1"})


def head(study: StudyRecord, session: SessionRecord | None, identity: Identity) -> None:
    """Draw the progress of a study, and refresh it while the study goes on."""
    going = live(study)
    st.fragment(run_every=EVERY if going else None)(_head)(study.id, session, identity, going)


def _head(study_id: int, session: SessionRecord | None, identity: Identity, going: bool) -> None:
    with blocks.errors():
        report, _, _ = read_report(frame.store().study(study_id))
        study = report.study
        share = study.done / max(study.trials, 1)
        label = "" if study.finished_at is not None else "Run what is missing" if study.done else "Run all seeds"
        text, waits = _far(report, going), WHERE if study.finished_at is None else ""
        studies.head(study, "federated", text, share, session, identity, going, label, waits)


def _far(report: WaysReport, going: bool) -> str:
    """Return the study's progress and settings in two lines."""
    study, workload = report.study, workloads().get(report.study.workload)
    task = workload.title if workload is not None else study.workload
    far = [f"**Study {study.id}**, {frame.plain(task)}: {study.done} of {words.count(study.trials, 'seed')}"]
    if going:
        if report.now is not None:
            round_ = max((max(curve) for curve in report.now.curves.values() if curve), default=0)
            far.append(f"seed {report.now.seed} in round {round_ or 1} of {report.rounds}")
        far.append(left_words(report))
        far[0] = f":blue[:material/sync:] {far[0]}"
    elif study.finished_at is not None:
        far[0] = f":green[:material/check_circle:] {far[0]}"
    else:
        ahead = remaining_work(frame.store(), report)
        far.append(f"what is missing takes about {words.long(ahead.seconds)} ({frame.plain(ahead.why)})")
    return f"{' · '.join(far)}\n\n{frame.plain(settings(study))}"


def ask(study: StudyRecord, identity: Identity) -> bool:
    """Draw the questions; return whether this person may see the results: has guessed, or has chosen to look."""
    with st.container(border=True, key="federated-predict"):
        begun = bool(
            frame.store().runs(study_id=study.id, limit=1)
        )  # its rounds are drawn before its first seed is done
        guesses = predictions.ask(study.id, ASKS, identity, measured=begun)
    if not guesses:
        st.info("What comes out stays hidden until you have guessed.", icon=":material/visibility_off:")
    return bool(guesses)


def see(study: StudyRecord, identity: Identity) -> None:
    """Draw the results so far, and refresh them while the study goes on."""
    st.markdown("#### :material/visibility: See")
    going = live(study)
    st.fragment(run_every=EVERY if going else None)(_see)(study.id, identity)


def _see(study_id: int, identity: Identity) -> None:
    with blocks.errors():
        report, page_cards, _ = read_report(frame.store().study(study_id))
        if not report.seeds and report.now is None:
            st.caption("Nothing has been learned yet.")
            return
        answers = {other: answer(report, other) for other in ASKS}
        if report.study.finished_at is not None:
            predictions.score(ASKS, predictions.guesses_of(study_id, ASKS, identity), answers, AGAINST)
        cards.show_page(page_cards, f"federated-{study_id}")
        if report.study.finished_at is None:
            return
        if identity.role == "instructor":
            predictions.everybody(study_id, ASKS, answers)
        download(report, page_cards)


def explain() -> None:
    """Draw the explanation of the results."""
    st.markdown("#### :material/lightbulb: Explain")
    st.markdown("\n\n".join(EXPLAIN))
