"""Pictures of decks: only what is in the deck's folder, is what it says, and can't run or load anything."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from workshop.core.errors import BadInput
from workshop.quiz import pictures
from workshop.quiz.parts import Picture

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'


def pixels(kind: str, size: tuple[int, int] = (3, 2)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, kind)
    return file.getvalue()


def load(folder: Path, name: str) -> pictures.LoadedPicture:
    return pictures.load(folder, Picture(file=name, alt="x"))


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", pixels("PNG"), "image/png"),
        ("a.jpg", pixels("JPEG"), "image/jpeg"),
        ("a.JPEG", pixels("JPEG"), "image/jpeg"),
        ("a.webp", pixels("WEBP"), "image/webp"),
        ("in/a b.svg", SVG.format('<path d="M0 0"/><use href="#x"/>').encode(), "image/svg+xml"),
    ],
)
def test_pictures_that_are_taken(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / name).write_bytes(data)
    loaded = load(tmp_path, name)
    assert (loaded.data, loaded.kind) == (data, kind)
    uri = pictures.load(tmp_path, Picture(file=name, alt="x")).uri
    assert uri.startswith(f"data:{kind};base64,") and base64.b64decode(uri.partition(",")[2]) == data


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.gif", b"GIF89a", "should be a file of one of these kinds: .svg, .png"),
        ("a", b"", "should be a file of one of these kinds"),
        ("a.png", b"", "is no PNG picture that can be read"),
        ("a.png", pixels("JPEG"), "is no PNG picture that can be read"),
        ("a.png", pixels("PNG")[:-20], "is no PNG picture that can be read"),
        ("a.jpg", b"<svg/>", "is no JPEG picture"),
        ("a.png", b"\0" * (pictures.LARGEST_PICTURE + 1), "has more than 2 MB"),
        ("a.svg", b"plain", "is no SVG picture that can be read"),
        ("a.svg", b"<svg/>", "its outermost element should be svg"),
        ("a.svg", b"<html xmlns='http://www.w3.org/1999/xhtml'/>", "its outermost element should be svg"),
        (
            "a.svg",
            b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + SVG.format("&x;").encode(),
            "is no SVG picture that can be read",
        ),
        (
            "a.svg",
            b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + SVG.format("&b;").encode(),
            "is no SVG picture that can be read",
        ),
    ],
)
def test_files_that_are_no_pictures(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput) as refused:
        load(tmp_path, name)
    told = str(refused.value)
    assert said in told and told.startswith(f"The picture {name!r}") and told.endswith(".") and "\n" not in told


def test_only_from_the_decks_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deck"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(pixels("PNG"))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "folder.png").mkdir()
    for name in ("../secret.png", str(tmp_path / "secret.png"), "link.png", "a/../../secret.png"):
        with pytest.raises(BadInput, match="lies outside of the deck's folder"):
            load(folder, name)
    for name in ("none.png", "folder.png"):
        with pytest.raises(BadInput, match=r"\.png can't be read \("):
            load(folder, name)
    with pytest.raises(BadInput, match="this deck has no folder"):
        pictures.load(None, Picture(file="a.png", alt="x"))
