"""What the audit tells of share groups, and that a load continues it."""

from coordinator.audit.schema import RebalanceStarted
from coordinator.core.causes import Cause
from coordinator.explain.history import GroupHistory
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID


def test_a_group_from_its_first_member_to_its_last() -> None:
    world = ShareWorld(topics={"t": 1})
    world.share_enter("a")
    world.share_beat("b", 0, "t")
    world.share_beat("a", 3)
    world.share_beat("a", -1)
    world.share_beat("b", -1)
    assert world.kinds() == [
        *("group.created", "member.joined", "rebalance.started", "generation.started"),
        *("member.reconciled", "generation.stable"),
        *("rebalance.started", "generation.started", "member.reconciled", "generation.stable"),
        *("member.joined", "rebalance.started", "generation.started", "member.reconciled"),
        *("member.reconciled", "generation.stable"),
        *("member.removed", "rebalance.started"),
        *("member.removed", "rebalance.superseded", "rebalance.started", "group.emptied"),
    ]


def test_why_the_epoch_rose() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.share_beat("a", 3, "u")
    world.share_beat("a", 4)
    world.fixed.grow("u", 3)
    world.share_beat("a", 5)
    causes = [event.cause for event in world.audited() if isinstance(event, RebalanceStarted)]
    assert causes == [
        *(Cause.NEW_MEMBER, Cause.PARTITIONS_INITIALIZED),
        *(Cause.METADATA_CHANGED, Cause.PARTITIONS_INITIALIZED, Cause.TOPICS_CHANGED),
    ]


def test_it_is_explained_as_a_share_group() -> None:
    world = ShareWorld()
    world.share_enter("a")
    world.restart()
    world.share_beat("a", 3)
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.group_type == "share"
