"""Who leads which partition, and how partitions move from node to node."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from coordinator.cluster.nodes.messages import Claim, NodeAddress
from coordinator.cluster.nodes.sharing import share_out


def claim(node_id: int, leads: tuple[int, ...] = (), started_ms: int = 0) -> Claim:
    node = NodeAddress(node_id=node_id, host="h", port=1000 + node_id, broker_port_base=2000)
    return Claim(node=node, leads=leads, started_ms=started_ms)


def leads_of(claims: dict[str, Claim], partition_count: int) -> dict[str, tuple[int, ...]]:
    return {member: assignment.leads for member, assignment in share_out(claims, partition_count).items()}


def test_one_node_leads_all() -> None:
    assert leads_of({"a": claim(1)}, 4) == {"a": (0, 1, 2, 3)}


def test_a_node_that_comes_gets_nothing_until_the_others_have_given_up() -> None:
    first = leads_of({"a": claim(1, (0, 1, 2, 3)), "b": claim(2)}, 4)
    assert first == {"a": (0, 1), "b": ()}
    assert leads_of({"a": claim(1, first["a"]), "b": claim(2)}, 4) == {"a": (0, 1), "b": (2, 3)}


def test_the_partitions_of_a_node_that_is_gone_are_shared_out_at_once() -> None:
    assert leads_of({"a": claim(1, (0, 1)), "b": claim(2, (2, 3))}, 6) == {"a": (0, 1, 4), "b": (2, 3, 5)}


def test_a_partition_that_two_nodes_claim_is_given_up_by_both() -> None:
    leads = leads_of({"a": claim(1, (0, 1)), "b": claim(2, (1, 2))}, 3)
    assert 1 not in leads["a"]
    assert 1 not in leads["b"]


def test_of_two_nodes_with_one_id_the_first_one_counts() -> None:
    leads = leads_of({"late": claim(1, (0,), started_ms=9), "early": claim(1, (1,), started_ms=3)}, 2)
    assert leads == {"late": (), "early": (1,)}


def test_all_nodes_know_who_leads_what() -> None:
    shares = share_out({"a": claim(1, (0,)), "b": claim(2, (1,))}, 2)
    assert all(share.leaders == {0: 1, 1: 2} for share in shares.values())
    assert all({node.node_id for node in share.nodes} == {1, 2} for share in shares.values())


def test_partitions_that_do_not_exist_are_not_assigned() -> None:
    assert leads_of({"a": claim(1, (7, -1))}, 2) == {"a": (0, 1)}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 11)), min_size=1),
    st.integers(1, 12),
)
def test_no_partition_is_taken_from_a_node_before_it_gave_it_up(
    claimed: dict[str, set[int]], partition_count: int
) -> None:
    claims = {member: claim(ord(member), tuple(sorted(leads))) for member, leads in claimed.items()}
    owners = {partition: {m for m, leads in claimed.items() if partition in leads} for partition in range(12)}
    for member, leads in leads_of(claims, partition_count).items():
        for partition in leads:
            assert not owners[partition] - {member}, (member, partition)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 11)), min_size=1),
    st.integers(1, 12),
)
def test_after_a_few_rounds_all_partitions_are_led_evenly(claimed: dict[str, set[int]], partition_count: int) -> None:
    leads = {member: tuple(sorted(each)) for member, each in claimed.items()}
    for _ in range(3):
        leads = leads_of({member: claim(ord(member), lead) for member, lead in leads.items()}, partition_count)
    counts = Counter({member: len(lead) for member, lead in leads.items()})
    assert sorted(partition for lead in leads.values() for partition in lead) == list(range(partition_count))
    assert max(counts.values()) - min(counts.values()) <= 1
