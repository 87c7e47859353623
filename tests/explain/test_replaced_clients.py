"""The client of a static member that was replaced is the one that has its place now."""

import msgspec

from coordinator.audit.schema import MemberRef, StaticMemberReplaced
from coordinator.explain.notes import notes
from coordinator.explain.replaced_clients import CLIENTS_KEPT, remember_client
from tests.explain.consumers import Consumers, text


def replaced() -> Consumers:
    """A static member `old` whose place `new` has taken."""
    group = Consumers()
    group.join("a")
    group.settle()
    group.join("old", instance_id="pod-0")
    group.settle()
    group.quiet(5_000)
    group.ids.pop("old")
    group.join("new", instance_id="pod-0")
    return group


def test_who_was_replaced_by_whom_is_told_without_a_rebalance():
    (note,) = notes(replaced().history())
    assert note.text == (
        "new (127.0.0.1, java) took the place of old (127.0.0.1) as static member pod-0, without a rebalance"
    )


def test_who_was_replaced_is_known_after_a_load_that_restores_who_joined_first():
    group = replaced()
    group.sim.restart()
    group.ids.pop("new")
    group.join("newer", instance_id="pod-0")
    assert notes(group.history())[-1].text.startswith("newer (127.0.0.1, java) took the place of new (127.0.0.1)")


def test_the_holder_of_an_instance_id_is_the_client_that_has_it_now():
    group = replaced()
    old = next(each.old_member_id for each in group.history().pending_changes.replaced)
    group.sim.heartbeat(old, instance_id="pod-0")
    fenced = notes(group.history())[-1].text
    assert "has its group.instance.id pod-0" in fenced
    assert ": new (127.0.0.1, java) has" in fenced


def test_a_removal_names_the_client_that_was_there_last():
    group = replaced()
    group.crash("new")
    group.settle()
    (removal,) = group.history().generations[-1].changes.removed
    assert removal.member.client_id == "new"
    assert [trigger.member.client_id for trigger in group.history().generations[-1].triggers if trigger.member] == [
        "new"
    ]
    assert "pod-0 (127.0.0.1, java) was silent" in text(group.story())


def test_the_clients_that_are_remembered_are_the_newest_of_a_bounded_number():
    clients: dict[str, MemberRef] = {}
    (event,) = (each for each in replaced().sim.audited() if isinstance(each, StaticMemberReplaced))
    for number in range(CLIENTS_KEPT + 5):
        member = msgspec.structs.replace(event.member, member_id=str(number))
        remember_client(clients, msgspec.structs.replace(event, member=member))
    assert list(clients) == [str(number) for number in range(5, CLIENTS_KEPT + 5)]
