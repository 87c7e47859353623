from collections.abc import Callable

class Release:
    """Frees messages. What others hold as well is left as it is.

    `pause` is called after each 500 elements, as in `Message.decode`.
    """

    def __init__(self, pause: Callable[[], object]) -> None: ...
    def run(self, messages: list[object]) -> None:
        """Empty the list, and free what nobody else holds."""
