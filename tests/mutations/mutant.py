"""One way to break the coordinator."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """In the definition `scope`, the fragment `old` (which stands there once) becomes `new`.

    `scope` is the qualified name of a function, method, class or constant in `_wire` or `coordinator`: `Shard.drain`,
    `STEPS_AT_ONCE_MAX`. Where several modules have the fragment in a definition of that name, the name of the module
    precedes it: `joining.decide`. So a mutant stays as it is when its definition moves to another file.

    The white space of `old` does not matter. The second and later lines of `new` are indented from the line that `old`
    begins in.
    """

    name: str
    scope: str
    old: str
    new: str
