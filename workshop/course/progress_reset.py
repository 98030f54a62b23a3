"""Resets a learner: their progress is removed, and their notebooks and files on this machine are handed out again.
Files that they have written get another name and are never lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.words import count, listed
from workshop.course import catalogue, copies
from workshop.course import learner as of_this_machine
from workshop.store.read_only import refuse_in
from workshop.store.store import Store


@dataclass(frozen=True)
class ResetPlan:
    """The effects of a reset, before it happens. `lab` None: all labs."""

    learner: str
    lab: str | None
    things: int  # exercises, predictions and opened notebooks that are known
    folder: Path | None  # of their notebooks; None: not on this machine
    notebooks: tuple[str, ...]  # that are handed out again
    files: tuple[str, ...]  # of the labs that are handed out again with them

    @property
    def words(self) -> str:
        """Two sentences for the person who has to confirm."""
        where = f"in {self.lab}" if self.lab else "in all labs"
        records = count(self.things, "record")
        what = "exercises, predictions and opened notebooks"
        sentences = f"This deletes {records} of {self.learner}'s progress {where}: {what}. "
        if not self.notebooks:
            return sentences + self.obstacle
        single = len(self.notebooks) == 1
        files = f", with {listed(self.files)} that {'it links' if single else 'they link'} to" if self.files else ""
        return (
            f"{sentences}{listed(self.notebooks)} in {self.folder} {'is' if single else 'are'} copied again{files}; "
            "the learner's own versions are kept beside them under other names."
        )

    @property
    def obstacle(self) -> str:
        """The reason why no notebook is handed out again; empty where one is."""
        if self.folder is None:
            return "Their notebooks are not on this machine and stay as they are."
        return f"The course has no notebook of {self.lab} now; theirs stays as it is."


@dataclass(frozen=True)
class Done:
    """The effects of a reset that has happened."""

    plan: ResetPlan
    forgotten: int
    aside: tuple[str, ...]  # names of files that hold what the learner had written

    @property
    def words(self) -> str:
        sentences = f"{self.plan.learner} starts again {f'in {self.plan.lab}' if self.plan.lab else 'in all labs'}."
        if not self.plan.notebooks:
            return f"{sentences} {self.plan.obstacle}"
        if self.aside:
            sentences += f" What they had written is kept as {listed(self.aside)}."
        return f"{sentences} An open notebook shows the new one after File > Reload Notebook from Disk."


def plan(store: Store, learner: str, lab: str | None = None) -> ResetPlan:
    """The effects of a reset. Raises BadInput for a learner or a lab without progress, and in a recording."""
    refuse_in(store.database)
    all_rows = store.progress()
    things = [row for row in all_rows if row.learner == learner and lab in (None, row.lab)]
    notebooks = _notebooks(lab)
    if not any(row.learner == learner for row in all_rows):
        names = sorted({row.learner for row in all_rows})
        existing = f"those there are: {listed(names[:20])}" if names else "nobody has begun a lab yet"
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; {existing}.")
    if not things and not notebooks:
        labs = sorted({row.lab for row in all_rows if row.learner == learner})
        raise BadInput(f"{learner} has nothing in a lab {lab!r:.50}; there is something in {listed(labs)}.")
    folder = folder_of(learner)
    if folder is None:
        return ResetPlan(learner, lab, len(things), None, (), ())
    return ResetPlan(learner, lab, len(things), folder, tuple(notebooks), tuple(_files(notebooks)))


def take_back(store: Store, learner: str, lab: str | None = None) -> Done:
    """Reset a learner in one lab or in all. The notebooks come first: where they can't be handed out, the progress
    stays too. Raises BadInput."""
    reset_plan = plan(store, learner, lab)
    aside: list[str] = []
    if reset_plan.folder is not None:
        try:
            for name in (*reset_plan.notebooks, *reset_plan.files):
                copied = copies.copy_again(config.notebooks_folder(), reset_plan.folder, name)
                aside += [str(PurePosixPath(name).with_name(copied.aside))] if copied.aside else []
        except BadInput as error:
            raise BadInput(f"{str(error).rstrip('.')}; nothing that is known of {learner} is taken back.") from None
    return Done(reset_plan, store.forget_progress(learner, lab), tuple(aside))


def folder_of(learner: str) -> Path | None:
    """Where a learner's copies are on this machine; None: nowhere. Raises BadInput where a folder isn't their own."""
    # The nickname may be short for an account's longer name.
    accounts = (account for account in config.class_learners() if of_this_machine.nickname(account) == learner)
    folder = config.class_notebooks(learner) or config.class_notebooks(next(accounts, ""))
    if folder is None and learner == of_this_machine.name():
        folder = config.learners_folder().resolve()  # its owner may have put a link there
    return folder if folder is not None and folder.is_dir() else None


def _notebooks(lab: str | None) -> dict[str, str]:
    """The names of a lab's notebook, or of all, with the names of the labs."""
    return {
        catalogue.file_name(described, folder): folder.name
        for folder, described in catalogue.readable()
        if lab in (None, folder.name)
    }


def _files(notebooks: Mapping[str, str]) -> Iterator[str]:
    """The files that these labs link to. A file of another lab belongs to that lab."""
    for name, lab in notebooks.items():
        yield from copies.linked(config.notebooks_folder(), name, lab)
