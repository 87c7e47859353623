"""Which heartbeats the sessions take without the core."""

import pytest

from tests.simulation.simulation import GROUP_ID, Simulation


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("instance_id", [None, "static"])
def test_a_heartbeat_has_to_name_the_instance_of_its_member(instance_id, restarts):
    sim = Simulation()
    (member_id,) = sim.make_stable([sim.join("a", instance_id=instance_id)])
    if restarts:
        sim.restart()
        assert not sim.sessions.answer_heartbeat(GROUP_ID, member_id, instance_id, sim.group.generation_id, sim.now_ms)
        sim.heartbeat(member_id, instance_id=instance_id)  # the first one since is decided: it tells who the client is
    taken = [
        named
        for named in (None, "static", "other")
        if sim.sessions.answer_heartbeat(GROUP_ID, member_id, named, sim.group.generation_id, sim.now_ms)
    ]
    assert taken == [instance_id]
