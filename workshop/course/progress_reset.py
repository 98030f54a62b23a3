"""Resets a learner: their progress is removed, and their notebooks and files on this machine are handed out anew. Files
that they have written get another name and are never lost."""

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
    """What a reset would do; nothing has happened yet. `lab` None: all labs."""

    learner: str
    lab: str | None
    things: int  # exercises, predictions and opened notebooks that are known
    folder: Path | None  # of their notebooks; None: not on this machine
    notebooks: tuple[str, ...]  # that are given anew
    files: tuple[str, ...]  # of the labs that are given anew with them

    @property
    def words(self) -> str:
        """Two sentences for the person who has to confirm."""
        where = f"in {self.lab}" if self.lab else "in all labs"
        told = f"This takes back {count(self.things, 'thing')} that {'is' if self.things == 1 else 'are'} known of "
        told += f"{self.learner} {where}. "
        if not self.notebooks:
            return told + self.why_not
        one = len(self.notebooks) == 1
        files = f", with {listed(self.files)} that {'it links' if one else 'they link'} to" if self.files else ""
        return (
            f"{told}{listed(self.notebooks)} in {self.folder} {'is' if one else 'are'} given anew{files}; what was "
            "written there is set aside beside it."
        )

    @property
    def why_not(self) -> str:
        """Why no notebook is given anew, where none is."""
        if self.folder is None:
            return "Their notebooks are not on this machine and stay as they are."
        return f"The course has no notebook of {self.lab} now; theirs stays as it is."


@dataclass(frozen=True)
class Done:
    """What a reset has done."""

    plan: ResetPlan
    forgotten: int
    aside: tuple[str, ...]  # names of files that hold what the learner had written

    @property
    def words(self) -> str:
        told = f"{self.plan.learner} begins anew {f'in {self.plan.lab}' if self.plan.lab else 'in all labs'}."
        if not self.plan.notebooks:
            return f"{told} {self.plan.why_not}"
        if self.aside:
            told += f" What they had written is kept as {listed(self.aside)}."
        return f"{told} An open notebook shows the new one after File > Reload Notebook from Disk."


def plan(store: Store, learner: str, lab: str | None = None) -> ResetPlan:
    """The effects of a reset. Raises BadInput for a learner or a lab without progress, and in a recording."""
    refuse_in(store.database)
    known = store.progress()
    things = [row for row in known if row.learner == learner and lab in (None, row.lab)]
    notebooks = _notebooks(lab)
    if not any(row.learner == learner for row in known):
        names = sorted({row.learner for row in known})
        there = f"those there are: {listed(names[:20])}" if names else "nobody has begun a lab yet"
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; {there}.")
    if not things and not notebooks:
        labs = sorted({row.lab for row in known if row.learner == learner})
        raise BadInput(f"{learner} has nothing in a lab {lab!r:.50}; there is something in {listed(labs)}.")
    folder = folder_of(learner)
    if folder is None:
        return ResetPlan(learner, lab, len(things), None, (), ())
    return ResetPlan(learner, lab, len(things), folder, tuple(notebooks), tuple(_files(notebooks)))


def take_back(store: Store, learner: str, lab: str | None = None) -> Done:
    """Reset a learner in one lab or in all. The notebooks come first: where they can't be given anew, nothing of their
    progress is lost either. Raises BadInput."""
    wanted = plan(store, learner, lab)
    aside: list[str] = []
    if wanted.folder is not None:
        try:
            for name in (*wanted.notebooks, *wanted.files):
                given = copies.again(config.notebooks_folder(), wanted.folder, name, make=False)
                aside += [str(PurePosixPath(name).with_name(given.aside))] if given.aside else []
        except BadInput as error:
            raise BadInput(f"{str(error).rstrip('.')}; nothing that is known of {learner} is taken back.") from None
    return Done(wanted, store.forget_progress(learner, lab), tuple(aside))


def folder_of(learner: str) -> Path | None:
    """Where a learner's copies are on this machine; None: nowhere. Raises BadInput where a folder isn't their own."""
    # The nickname may be short for an account's longer name.
    accounts = (one for one in config.class_learners() if of_this_machine.nickname(one) == learner)
    theirs = config.class_notebooks(learner) or config.class_notebooks(next(accounts, ""))
    if theirs is None and learner == of_this_machine.name():
        theirs = config.learners_folder().resolve()  # its owner may have put a link there
    return theirs if theirs is not None and theirs.is_dir() else None


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
