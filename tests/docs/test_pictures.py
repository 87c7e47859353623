"""The pictures of docs/images are those that `make screenshots` takes, in their size, and are shown with a text."""

import re
import struct

from docs.make_screenshots import BYTES_MAX, IMAGES, SIZES
from tests.docs.pages import PAGES

SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)]+\.png)\)")
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_there_are_no_others_and_none_is_missing():
    assert {picture.stem for picture in IMAGES.iterdir()} == set(SIZES)


def test_they_have_the_size_in_which_they_are_taken():
    for name, size in SIZES.items():
        picture = (IMAGES / f"{name}.png").read_bytes()
        assert picture.startswith(SIGNATURE) and len(picture) <= BYTES_MAX, name
        assert struct.unpack(">II", picture[16:24]) == size, f"{name}: run `make screenshots`"


def test_each_is_shown_with_a_text_that_says_what_it_shows():
    shown = set()
    for page in PAGES:
        for text, target in SHOWN.findall(page.read_text(encoding="utf-8")):
            assert len(text) >= len("A group on a phone"), (page, target)
            shown.add((page.parent / target).resolve())
    assert shown == {(IMAGES / f"{name}.png").resolve() for name in SIZES}
