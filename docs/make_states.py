"""Writes docs/states.md from the state table, and from what the core answers when it is asked: `make docs`."""

import ast
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from _wire.errors import ErrorCode  # noqa: E402  (the script may be run from anywhere)
from coordinator.core import states  # noqa: E402
from coordinator.core.states import GroupState, diagram  # noqa: E402
from tests.simulation.simulation import Asked, Simulation  # noqa: E402

PAGE = Path(__file__).with_name("states.md")
HEAD = """# States of a group

Made by `make docs` from `coordinator/core/states.py`; not to be edited.

```mermaid
{diagram}
```

"""
TABLE_HEAD = """
## What is answered

Each cell was asked of the core itself, in a group of a leader and one follower. "waits" means that the answer comes
later: that of JoinGroup when the join phase completes, that of SyncGroup when the leader brings the assignments. An
arrow names the state that the group is in afterwards, where it is another one.

"""
NO_GROUP: Final = "no such group"


class Stage:
    """A group in a state, with its leader and a follower."""

    def __init__(self, state: str) -> None:
        self.sim = Simulation()
        if state == NO_GROUP:
            self.leader, self.follower = "leader", "follower"
            return
        self.leader, self.follower = self.sim.stable_with("leader", "follower")
        if state == GroupState.EMPTY:
            self.sim.leave(self.leader, self.follower)
        elif state != GroupState.STABLE:
            self.sim.join("leader", self.leader)
        if state == GroupState.COMPLETING_REBALANCE:
            self.sim.join("follower", self.follower)
        assert self.sim.group.state == state, (state, self.sim.group.state)


REQUESTS: Final[dict[str, Callable[[Stage], Asked]]] = {
    "JoinGroup v0–v3 of a new member": lambda stage: stage.sim.join("new"),
    "JoinGroup v4+ of a new member": lambda stage: stage.sim.join("new", version=9),
    "JoinGroup of the follower, unchanged": lambda stage: stage.sim.join("follower", stage.follower),
    "JoinGroup of the follower, other metadata": lambda stage: stage.sim.join(
        "follower", stage.follower, metadata=b"other"
    ),
    "JoinGroup of the leader, unchanged": lambda stage: stage.sim.join("leader", stage.leader),
    "SyncGroup of the follower": lambda stage: stage.sim.sync(stage.follower),
    "SyncGroup of the leader, with assignments": lambda stage: stage.sim.sync(
        stage.leader, {stage.leader: b"1", stage.follower: b"2"}
    ),
    "Heartbeat of the follower": lambda stage: stage.sim.heartbeat(stage.follower),
    "LeaveGroup of the follower": lambda stage: stage.sim.leave(stage.follower),
    "OffsetCommit of the follower": lambda stage: stage.sim.commit(
        stage.follower, generation_id=stage.sim.group.generation_id
    ),
    "OffsetCommit without a member": lambda stage: stage.sim.commit(),
    "DeleteGroups": lambda stage: stage.sim.delete_group(),
}


def page() -> str:
    columns = [NO_GROUP, *(state.value for state in GroupState if state is not GroupState.DEAD)]
    lines = [f"| request | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, ask in REQUESTS.items():
        lines.append(f"| {name} | {' | '.join(cell(state, ask) for state in columns)} |")
    meanings = "\n".join(f"**{name}.** {text}\n" for name, text in docstrings())
    return HEAD.format(diagram=diagram()) + meanings + TABLE_HEAD + "\n".join(lines) + "\n"


def docstrings() -> Iterator[tuple[str, str]]:
    """Each state with the text below it."""
    tree = ast.parse(Path(states.__file__).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef))
    for member, text in pairwise(body):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            name = str(ast.literal_eval(member.value))
            yield name, " ".join(str(text.value.value).split())


def cell(state: str, ask: Callable[[Stage], Asked]) -> str:
    stage = Stage(state)
    before = stage.sim.group.state
    asked = ask(stage)
    said = answer(asked) if asked.answered else "waits"
    group = stage.sim.group
    after = f" → {group.state}" if stage.sim.exists and (group.state is not before or state == NO_GROUP) else ""
    return said + after + (" → gone" if state != NO_GROUP and not stage.sim.exists else "")


def answer(asked: Asked) -> str:
    error = asked.error
    for member in getattr(asked.response, "members", ()):
        error = ErrorCode(getattr(member, "error_code", error))
    if error is ErrorCode.NONE and hasattr(asked.response, "generation_id"):
        return f"generation {asked.response.generation_id}"
    return error.name


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
