"""What becomes of a message with very many elements: the codec calls `not_in_steps` after 5,000, or a mebibyte.

Nearly all messages have fewer. One that has more is decoded or encoded again from its beginning, in steps.
"""


class TooLong(Exception):
    """The message has more elements than one step."""


def not_in_steps(held_bytes: int | None = None) -> None:
    """What to call at the end of the first step, where the work is to be done at once or not at all.

    Raises:
        TooLong: always.
    """
    raise TooLong
