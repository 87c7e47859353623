"""Plays a group of the kind on a coordinator that has it by its recipe alone, and writes what came of it as JSON."""

import json
import os
import sys
from typing import Any

from tests.groups.epochs.recipe import add_kind


def played() -> dict[str, Any]:
    from _wire.messages.list_groups import ListGroupsRequest
    from coordinator.core.decision import OperationContext
    from coordinator.core.kinds import operations
    from coordinator.core.kinds.table import KINDS
    from coordinator.core.operation import Operation
    from coordinator.explain.history import GroupHistory
    from coordinator.explain.protocols.table import protocol_of
    from coordinator.metrics.declarations.groups import GROUP_COUNT_BY_STATE
    from coordinator.testing.snapshots import snapshot_of
    from tests.groups.second_kind import NAME, add_members
    from tests.simulation.simulation import GROUP_ID, Sent, Simulation

    sim = Simulation()
    decision = add_members(GROUP_ID, sim.now_ms, "a", "b")
    context = OperationContext(None, 0, "", "", sim.environment, 0, 0)
    sim.coordinator.enqueue(Operation("test", lambda *asked: decision), GROUP_ID, None, context)
    sim.coordinator.drain(sim.now_ms)
    counted = sim.whole_group.membership.counted
    committed = sim.commit("a", generation_id=2).error.name
    sim.restart()
    sent = Sent()
    sim.submit(operations.LIST_GROUPS, GROUP_ID, ListGroupsRequest(types_filter=[NAME]), sent, "client", 5)
    history = GroupHistory.of(GROUP_ID, sim.audited())
    snapshot = snapshot_of(GROUP_ID, sim.whole_group, sim.topics.topic_name)
    return {
        "kinds": list(KINDS),
        "counted": counted,
        "committed": committed,
        "listed": [[group.group_id, group.group_type, group.group_state] for group in sent.response.groups],
        "members": sorted(sim.whole_group.membership.members),
        "sessions": sorted(sim.sessions.members(GROUP_ID)),
        "audit": sim.kinds(),
        "group_type": history.group_type,
        "generation": protocol_of(history.group_type).generation(snapshot.generation_id),
        "in_words": snapshot.in_words(),
        "metric": GROUP_COUNT_BY_STATE[NAME].name,
    }


if __name__ == "__main__":
    os.environ["COORDINATOR_DEBUG"] = "1"
    add_kind()
    json.dump(played(), sys.stdout)
