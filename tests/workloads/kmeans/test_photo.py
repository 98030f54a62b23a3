"""Photos from users: what can't be quantised gets one sentence, what can comes out as it should."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.workloads.kmeans import WORKLOAD, photo


def given(image, **more):
    return WORKLOAD.inputs(WORKLOAD.check({"image": str(image), **more}), no_artifacts)


def refused(image, **more) -> str:
    with pytest.raises(BadInput) as error:
        given(image, **more)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds no pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 1000) + b"IDAT"


@pytest.mark.parametrize("image", ["china", "flower"])
def test_bundled_photos_are_there(image):
    data = given(image)["photo"]
    assert photo.pixels(data).shape == (427, 640, 3)


def test_a_picture_is_drawn_where_there_are_no_photos():
    pixels = photo.pixels(given("sunset")["photo"])
    assert pixels.shape == (320, 480, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 1000
    assert given("sunset") == given("sunset"), "it is the same each time"


def test_a_photo_that_is_none_is_refused(tmp_path):
    assert "isn't there" in refused(tmp_path / "no.jpg")
    assert "not a file" in refused(tmp_path)
    (tmp_path / "empty.jpg").touch()
    assert "empty" in refused(tmp_path / "empty.jpg")
    (tmp_path / "text.jpg").write_text("This is a letter and no photo.\n" * 20)
    assert "not an image" in refused(tmp_path / "text.jpg")
    whole = given("china")["photo"]
    (tmp_path / "half.jpg").write_bytes(whole[: len(whole) // 2])
    assert "damaged" in refused(tmp_path / "half.jpg")
    (tmp_path / "script.jpg").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n")
    assert "not an image" in refused(tmp_path / "script.jpg")


def test_a_photo_that_is_too_large_is_refused_before_it_is_decoded(tmp_path):
    (tmp_path / "wide.png").write_bytes(png_header(50_000, 10))
    assert "50000 × 10 pixels" in refused(tmp_path / "wide.png")
    (tmp_path / "many.png").write_bytes(png_header(15_000, 8_000))
    assert "15000 × 8000 pixels" in refused(tmp_path / "many.png")
    (tmp_path / "bomb.png").write_bytes(png_header(50_000, 50_000))
    assert "too many pixels" in refused(tmp_path / "bomb.png")
    with (tmp_path / "huge.jpg").open("wb") as file:
        file.truncate(photo.MAX_BYTES + 1)
    assert "at most 64 MB" in refused(tmp_path / "huge.jpg")


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_an_alpha_channel_is_refused(tmp_path, mode):
    Image.new(mode, (8, 8)).save(tmp_path / "clear.png")
    assert "transparent pixels" in refused(tmp_path / "clear.png")


def test_more_clusters_than_pixels_are_refused(tmp_path):
    Image.new("RGB", (3, 3)).save(tmp_path / "small.png")
    assert "9 pixels" in refused(tmp_path / "small.png", clusters=10)
    assert given(tmp_path / "small.png", clusters=9)


@pytest.mark.parametrize("mode", ["L", "1", "P", "CMYK"])
def test_other_ways_to_store_colours_are_taken(tmp_path, mode):
    Image.new(mode, (8, 6)).save(tmp_path / "photo.tiff")
    assert photo.pixels(given(tmp_path / "photo.tiff")["photo"]).shape == (6, 8, 3)


@pytest.mark.parametrize("mode", ["I", "F", "I;16"])
def test_values_that_are_no_colours_are_refused(tmp_path, mode):
    Image.new(mode, (8, 6)).save(tmp_path / "photo.tiff")
    assert "16 or 32 bits" in refused(tmp_path / "photo.tiff")


def test_a_photo_is_turned_as_its_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(tmp_path / "turned.jpg", exif=exif)
    assert photo.pixels(given(tmp_path / "turned.jpg")["photo"]).shape == (8, 4, 3)


@pytest.mark.parametrize(("colours", "mode"), [(256, "P"), (300, "RGB")])
def test_a_quantised_photo_shows_the_palette(colours, mode):
    random = np.random.default_rng(0)
    palette = random.integers(0, 256, (colours, 3), np.uint8)
    labels = random.integers(0, colours, (20, 30), np.int32)
    image = Image.open(io.BytesIO(photo.encode_quantised(labels, palette)))
    assert image.mode == mode
    np.testing.assert_array_equal(np.asarray(image.convert("RGB")), palette[labels])


@pytest.mark.parametrize("ending", ["jpg", "webp", "tiff", "gif"])
def test_photos_keep_their_pixels_and_lose_their_remarks(tmp_path, ending):
    exif = Image.Exif()
    exif[0x010F] = "SecretCamera"
    remarks = {"comment": b"SecretRemark"} if ending == "gif" else {"exif": exif}
    file = tmp_path / f"photo.{ending}"
    Image.effect_noise((32, 24), 90).convert("RGB").save(file, **remarks)
    kept = given(file)["photo"]
    assert b"Secret" in file.read_bytes() and b"Secret" not in kept
    np.testing.assert_array_equal(photo.pixels(kept), photo.pixels(file.read_bytes()))
