"""What the coordinator in a test logs, in the logging of the standard library."""

import io
import logging
from collections.abc import Iterator

import pytest

from coordinator.logger import logger
from coordinator.testing.logs import logs_of_this_thread_diverted


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a handler with the usual format writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(levelname)s %(filename)s %(funcName)s %(message)s"))
    standard = logging.getLogger("coordinator")
    level = standard.level
    standard.addHandler(handler)
    standard.setLevel(logging.INFO)
    with logs_of_this_thread_diverted():
        yield text
    standard.removeHandler(handler)
    standard.setLevel(level)


def test_a_line_has_its_fields_and_the_place_that_logged_it(written):
    logger.info("group transition", group="g\x1b[2J\nsecond")
    assert written.getvalue() == (
        "INFO test_logs.py test_a_line_has_its_fields_and_the_place_that_logged_it "
        "group transition group='g\\x1b[2J\\nsecond'\n"
    )


def test_a_traceback_can_neither_forge_a_line_nor_control_the_terminal(written):
    try:
        raise ValueError("bad\x1b[2J\nERROR forged\u202e")
    except ValueError:
        logger.exception("unhandled exception in request", api="Fetch")
    first, *others = written.getvalue().splitlines()
    assert first.endswith("unhandled exception in request api='Fetch'")
    assert "\x1b" not in written.getvalue()
    assert "\u202e" not in written.getvalue()
    assert all(line.startswith("  | ") for line in others)
    assert any("ERROR forged" in line for line in others)


def test_what_the_level_leaves_out_is_not_put_together(written):
    class Costly:
        def __repr__(self) -> str:
            raise AssertionError("put together")

    logger.debug("detail", of=Costly())
    assert written.getvalue() == ""
