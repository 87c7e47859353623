"""Only events, and the load of stored records, change a group. Every other module of the coordinator only reads it.

The sources are read, not run. Assigning to an attribute that has the name of a field of a group, changing a collection
in it, or calling a method that changes a group is an error outside of the modules that apply events.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinator.core.classic.group import ClassicGroup, Member, Rebalance
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember
from coordinator.core.consumer.named_topics import NamedTopics
from coordinator.core.groups.group import Group
from coordinator.core.offsets.committed_offsets import CommittedOffsets
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareMember

ROOT: Final = Path(__file__).parent.parent
LAYERS: Final = ("core", "runtime", "groups", "transactions", "audit", "front", "node")
"""The layers that work with groups."""

APPLYING: Final = {
    "coordinator/core/classic/group.py": "the methods by which events change members and generations",
    "coordinator/core/offsets/committed_offsets.py": "the methods by which events change committed offsets",
    "coordinator/core/offsets/pending_offsets.py": "the part of them that open transactions committed",
    "coordinator/core/groups/group.py": "a new group gets its parts",
    "coordinator/core/classic/events.py": "the events of classic groups",
    "coordinator/core/groups/events.py": "the events of groups of any kind",
    "coordinator/core/offsets/events.py": "the events of committed offsets",
    "coordinator/core/kinds/stored.py": "a load makes groups of the records that events stored",
    "coordinator/core/classic/records.py": "the same for the record of a classic group",
    "coordinator/core/consumer/group.py": "the methods by which events change a consumer group",
    "coordinator/core/consumer/conversion_events.py": "the events of groups that change their protocol",
    "coordinator/core/consumer/events.py": "the events of consumer groups",
    "coordinator/core/consumer/target_events.py": "the events of targets that are computed beside the requests",
    "coordinator/core/consumer/replay.py": "a load applies the records of consumer groups",
    "coordinator/groups/steady_commits.pyx": "a steady commit does what the event of the core would do (decision 053)",
    "coordinator/core/consumer/upgrade.py": "a consumer group is made of a classic one, before the event that has it",
    "coordinator/core/share/group.py": "the methods by which events change a share group",
    "coordinator/core/share/events.py": "the events of share groups",
    "coordinator/core/share/replay.py": "a load applies the records of share groups",
    "coordinator/core/streams/group.py": "the methods by which events change a streams group",
    "coordinator/core/streams/events.py": "the events of streams groups",
    "coordinator/core/streams/replay.py": "a load applies the records of streams groups",
}
"""Module → why it may change a group."""

NOT_A_GROUP: Final = {
    "coordinator/audit/classic.py": {"state.members.pop"},  # what the audit knows of the group
    "coordinator/audit/consumer.py": {"state.members.clear", "state.remove_member"},  # the same
    "coordinator/core/consumer/heartbeat.py": {"response.assignment"},  # a message
    "coordinator/core/consumer/member_update.py": {"group.found_subscription"},  # remembered; follows from the topics
    "coordinator/audit/share.py": {"state.remove_member"},  # what the audit knows of the group
    "coordinator/audit/streams.py": {"state.remove_member"},  # the same
    "coordinator/core/share/heartbeat.py": {"response.assignment"},  # a message
    "coordinator/core/share/subscription.py": {"group.found_unassigned", "group.found_uninitialized"},  # remembered
    "coordinator/core/offsets/fetch.py": {"answer.metadata"},  # a message
    "coordinator/core/offsets/records.pyx": {  # offsets and messages
        "answer.metadata",
        "offset.metadata",
        "position.metadata",
        "committed.metadata",  # is read beside a name of the same line
    },
    "coordinator/core/classic/joining.py": {"response.protocol_name"},  # a message
    "coordinator/core/classic/leaving.pyx": {  # messages
        "answer.group_instance_id",
        "answer.member_id",
        "identity.member_id",
    },
    "coordinator/core/consumer/leaving_members.pyx": {"answer.group_instance_id", "answer.member_id"},  # messages
    "coordinator/front/denied_elements.py": {"setattr"},  # a request
    "coordinator/front/hidden_resources.py": {"setattr"},  # a response
    "coordinator/node/denied_topics.py": {"setattr"},  # a request
    "coordinator/front/request_context.py": {"self.connection.client_connection"},  # a connection
    "coordinator/groups/sessions.pyx": {
        "fields.client_id.data",
        "fields.client_id.size",
        "fields.group_id.data",
        "fields.group_id.size",
        "fields.member_id.data",
        "fields.member_id.size",
        "group.generation_id",
        "group.group_id",
        "session.client_host",
        "session.client_id",
        "session.deadline_ms",
        "session.group_instance_id",
        "session.member_id",
    },  # a session, the sessions of a group, and what a frame has
}
"""Module → what has the name of a field, but belongs to a class of its own."""

PARTS_OF_A_GROUP: Final = (
    Group,
    ClassicGroup,
    Member,
    Rebalance,
    ConsumerGroup,
    NamedTopics,
    ConsumerMember,
    ShareGroup,
    ShareMember,
    CommittedOffsets,
)

FIELDS: Final = frozenset(name for part in PARTS_OF_A_GROUP for name in inspect.get_annotations(part))
CONTAINER_CHANGES: Final = frozenset({
    "add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop",
    "popitem", "put", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update",
})  # fmt: skip
GROUP_CHANGES: Final = frozenset({
    "add_member", "allow_join_completion", "complete_transaction", "defer_join_completion", "keep_subscriptions",
    "mark_created", "mark_removed", "move_to", "wait_for_join", "put_pending", "remove_member", "remove_partition",
    "request_rebalance", "supersede", "update_protocols",
    "add_classic_member", "count_member", "set_pattern", "set_revocation_deadline", "set_states",
    "set_target_epoch", "set_targets", "update_metadata", "update_state",
})  # fmt: skip
"""Methods that change a group and that no other class has."""


class Changes(ast.NodeVisitor):
    """Collects (line, expression) for what changes a group."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self.aliases: set[str] = set()

    def is_field(self, node: ast.expr) -> bool:
        """Whether the expression is a field of a group, something in it, or a name for it; `self` has its own."""
        match node:
            case ast.Attribute(ast.Name("self")):
                return False
            case ast.Attribute(value, name):
                return name in FIELDS or self.is_field(value)
            case ast.Subscript(value):
                return self.is_field(value)
            case ast.Name(name):
                return name in self.aliases
        return False

    def changed(self, target: ast.expr) -> None:
        match target:
            case ast.Tuple(targets) | ast.List(targets):
                for each in targets:
                    self.changed(each)
            case ast.Starred(value):
                self.changed(value)
            case ast.Attribute() | ast.Subscript():
                if self.is_field(target):
                    self.found.append((target.lineno, ast.unparse(target)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.aliases = set()
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.changed(target)
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Attribute) and self.is_field(node.value):
                self.aliases.add(target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.changed(node.target)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.changed(node.target)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self.changed(node.target)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.changed(target)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Attribute(value, name) if name in GROUP_CHANGES or (
                name in CONTAINER_CHANGES and self.is_field(value)
            ):
                self.found.append((node.lineno, ast.unparse(node.func)))
            case ast.Name("setattr") | ast.Attribute(_, "__setattr__"):
                self.found.append((node.lineno, ast.unparse(node.func)))
        self.generic_visit(node)


def changes_in_python(text: str) -> list[tuple[int, str]]:
    changes = Changes()
    changes.visit(ast.parse(text))
    return changes.found


CYTHON_ONLY: Final = re.compile(r"^cdef\s+[\w.]+\s*\*?\s*(?=\w+\s*=)|<[\w ]+\*{0,2}>|^(?:el)?(?=if\b)")


def changes_in_cython(text: str) -> list[tuple[int, str]]:
    """By single lines: those that are Python but for types and casts. Names for a part of a group are not followed."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = CYTHON_ONLY.sub("", line.strip())
        for ending in ("", " pass", ")", "}", "]"):
            try:
                found += [(number, what) for _, what in changes_in_python(code + ending)]
                break
            except SyntaxError:
                continue
    return found


def sources() -> Iterator[tuple[str, Path]]:
    for layer in LAYERS:
        for path in sorted((ROOT / "coordinator" / layer).rglob("*.py*")):
            if path.suffix in (".py", ".pyx"):
                yield str(path.relative_to(ROOT)), path


def changes_in(path: Path) -> list[tuple[int, str]]:
    find = changes_in_python if path.suffix == ".py" else changes_in_cython
    return find(path.read_text(encoding="utf-8"))


def test_only_the_modules_that_apply_events_change_a_group():
    assert [
        f"{name}:{line}: {what}"
        for name, path in sources()
        if name not in APPLYING
        for line, what in changes_in(path)
        if what not in NOT_A_GROUP.get(name, ())
    ] == []


METHODS_OF_ITS_OWN: Final = {"coordinator/core/groups/group.py", "coordinator/core/offsets/committed_offsets.py"}
"""Modules that assign by `self` alone, which is looked for nowhere."""


@pytest.mark.parametrize("name", sorted({*APPLYING, *NOT_A_GROUP} - METHODS_OF_ITS_OWN))
def test_every_exception_is_needed(name):
    found = {what for _, what in changes_in(ROOT / name)}
    assert found
    assert NOT_A_GROUP.get(name, set()) <= found


CHANGES: Final = [
    "group.membership.leader = None",
    "group.membership.generation_id += 1",
    "member.protocols, other = (), 1",
    "member.assignment: bytes = b''",
    "del group.static_members['one']",
    "group.members['a'].assignment = b''",
    "group.members.pop('a')",
    "group.offsets.by_topic['t'].update(more)",
    "group.pending_sync.clear()",
    "classic.remove_member('a')",
]
"""One line each."""

READS: Final = [
    "member = group.members['a']",
    "leader = group.leader",
    "self.state = group.state",
    "group.generation_id == 1",
    "other[group.leader] = 1",
    "sorted(group.members)",
    "len(group.members.values())",
    "Member(assignment=b'')",
]


@pytest.mark.parametrize("find", [changes_in_python, changes_in_cython])
def test_a_change_is_found_and_a_read_is_none(find):
    assert [line for line in CHANGES if len(find(line)) != 1] == []
    assert [line for line in READS if find(line)] == []


def test_a_change_by_another_name_is_found():
    members = "def f(group):\n    members = group.members\n    members.clear()\n    members['a'] = 1"
    assert [line for line, _ in changes_in_python(members)] == [3, 4]
