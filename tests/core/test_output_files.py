"""Files that somebody asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core.errors import BadInput
from workshop.core.output_files import check, write


def test_what_is_there_stays_unless_it_may_be_overwritten(tmp_path: Path) -> None:
    new, one, other = (tmp_path / name for name in ("new", "one", "other"))
    check([new], overwrite=False)
    assert write(one, b"1") == str(one) and write(other, b"2") == str(other)
    with pytest.raises(BadInput, match=r"one and 1 more is there already; give another name, or --overwrite\."):
        check([new, one, other], overwrite=False)
    check([one, other], overwrite=True)
    with pytest.raises(BadInput, match="is a folder"):
        check([tmp_path], overwrite=True)
    with pytest.raises(BadInput, match=r"can't be written \(Not a directory\)"):
        write(one / "two", b"3")
