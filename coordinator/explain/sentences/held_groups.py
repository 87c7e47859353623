"""Groups that nodes in front of a cluster are to coordinate and that have members at the cluster, in words."""

from typing import Final

from coordinator.audit.schema import GroupHeldByCluster, MemberRef
from coordinator.explain.sentences.labels import label
from coordinator.explain.words import NAMES_IN_A_SENTENCE, counted, listed

ADVICE: Final = (
    "set bootstrap.servers of all its clients to the nodes; the nodes take the group in as soon as nobody is in it at"
    " the cluster, so stop its clients together once, also those that come by way of the nodes by now"
)
ADVICE_IF_OWNED: Final = (
    "stop these clients, set their bootstrap.servers to the nodes, and start them again: until they have left the"
    " cluster, a partition may have an owner at each place, and offsets that members at the nodes commit are refused"
)


def advice(event: GroupHeldByCluster) -> str:
    """What to do."""
    return ADVICE_IF_OWNED if event.is_owned else ADVICE


def clients_of(event: GroupHeldByCluster) -> str:
    """`billing-1 (10.0.0.1), billing-2 (10.0.0.2) and 3 more`: whose members are at the cluster."""
    named = [_client(member) for member in event.members[:NAMES_IN_A_SENTENCE]]
    return listed(named, more=event.member_count - len(named)) if named else counted(event.member_count, "client")


def _client(member: MemberRef) -> str:
    return label((member.client_id, member.client_host))


def held_note(event: GroupHeldByCluster) -> str:
    """What the event says, as a clause."""
    if not event.member_count:
        return "nobody was in the group at the cluster any more"
    by = "the nodes and the cluster" if event.is_owned else "the cluster"
    return f"{by} coordinated the group: {clients_of(event)} {'was' if event.member_count == 1 else 'were'} in it there"


def headline(event: GroupHeldByCluster) -> str:
    """What is the case now, as a clause."""
    by = "the nodes and the cluster both coordinate" if event.is_owned else "the cluster coordinates"
    return f"{by} the group: {clients_of(event)} {'is' if event.member_count == 1 else 'are'} in it there"
