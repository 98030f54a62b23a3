"""Paths through the course: which labs fit a class, its time and what it knows already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workshop.core import config, yaml_files
from workshop.core.errors import BadInput
from workshop.course import catalogue
from workshop.course.description import DEEPEST_LEVEL, LARGEST_FILE, LabDescription, Name, Words

FILE = "paths.yaml"
FileModel = TypeVar("FileModel", bound=BaseModel)


class LearningPath(BaseModel):
    """A choice of labs. `extras`: the class does their extras, too."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: Words
    audience: Words
    labs: tuple[Name, ...] = Field(min_length=1, strict=False)
    extras: bool = False
    note: Annotated[str, Field(max_length=500)] = ""

    def minutes(self, labs: Mapping[str, LabDescription]) -> int:
        """The minutes of the labs, without breaks."""
        path_labs = [labs[name] for name in self.labs if name in labs]
        return sum(lab.minutes + (lab.extra_minutes if self.extras else 0) for lab in path_labs)


class _Paths(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    paths: tuple[LearningPath, ...] = Field(strict=False)


def read() -> tuple[LearningPath, ...]:
    """The paths of labs/paths.yaml, and none where that file isn't installed. Raises BadInput for a bad file and for
    a lab that doesn't exist."""
    path = config.labs_folder() / FILE
    if not path.is_file():
        return ()
    paths = course_file(path, "the paths", _Paths).paths
    labs = {folder.name for folder in catalogue.folders(path.parent)}
    for name in {name for learning_path in paths for name in learning_path.labs} - labs:
        catalogue.find(name)
    return paths


def course_file(path: Path, content: str, model: type[FileModel]) -> FileModel:
    """Read a YAML file of the course, whose content is named for errors. Raises BadInput."""
    try:
        document = yaml_files.document(
            *yaml_files.compose(yaml_files.read_text(path, LARGEST_FILE, content), DEEPEST_LEVEL)
        )
        return model.model_validate(document)
    except yaml_files.Unreadable as error:
        raise BadInput(f"{path}, line {error.line}: the file {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
