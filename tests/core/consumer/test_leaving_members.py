"""Who of a LeaveGroup leaves a consumer group, and what each identity is answered."""

from hypothesis import given
from hypothesis import strategies as st

from _wire.errors import NONE, ErrorCode
from _wire.messages.leave_group import MemberIdentity
from coordinator.core.consumer.classic_members import find_member
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.identification import static_member
from coordinator.core.consumer.leaving_members import members_that_leave
from coordinator.core.consumer.member import ConsumerMember, MemberMetadata

IDENTITIES = st.builds(
    MemberIdentity,
    member_id=st.sampled_from(["", "a", "b", "c", "gone"]),
    group_instance_id=st.sampled_from([None, "one", "two", "none"]),
    reason=st.sampled_from([None, "first", "second"]),
)


def group() -> ConsumerGroup:
    """`a` is static, as is `b`; `c` is not."""
    made = ConsumerGroup("group")
    for member_id, instance_id in (("a", "one"), ("b", "two"), ("c", None)):
        made.add_member(ConsumerMember(member_id, MemberMetadata("client", "host", group_instance_id=instance_id)))
    return made


def found(consumer: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember | ErrorCode:
    """One identity after the other, by what other requests of classic members are identified with."""
    instance_id = identity.group_instance_id
    holder = None if instance_id is None else static_member(consumer, instance_id)
    if holder is not None and not identity.member_id:
        return holder
    return find_member(consumer, identity.member_id, instance_id)


@given(identities=st.lists(IDENTITIES, max_size=8))
def test_each_identity_is_that_of_a_member_or_an_error(identities: list[MemberIdentity]) -> None:
    consumer, expected = group(), dict[str, str | None]()
    gone, answers = members_that_leave(consumer.members, consumer.static_members, identities)
    for identity, answer in zip(identities, answers, strict=True):
        assert (answer.member_id, answer.group_instance_id) == (identity.member_id, identity.group_instance_id)
        member = found(consumer, identity)
        if isinstance(member, ErrorCode):
            assert answer.error_code == member
        else:
            assert answer.error_code == NONE
            expected.setdefault(member.member_id, identity.reason)
    assert list(gone.items()) == list(expected.items())


def test_a_member_that_is_named_many_times_leaves_once() -> None:
    consumer = group()
    identities = [MemberIdentity(member_id="c", reason=str(number)) for number in range(1_000)]
    gone, answers = members_that_leave(consumer.members, consumer.static_members, identities)
    assert gone == {"c": "0"}
    assert {answer.error_code for answer in answers} == {NONE}
