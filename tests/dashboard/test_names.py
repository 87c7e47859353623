from coordinator.audit.schema import MemberRef
from coordinator.dashboard.names import MemberNames
from tests.dashboard.groups import GROUP_ID, board_of, story

UUID = "5f1c0c4e-77b1-4a4b-8f3c-000000000001"


def ref(member_id: str, client_id: str = "app", instance_id: str | None = None) -> MemberRef:
    return MemberRef(member_id, client_id, "/127.0.0.1", instance_id)


def test_members_have_their_instance_id_else_their_client_id_else_their_member_id():
    members = [ref("m-1", "app", "blue"), ref("m-2", "app"), ref("m-3", "")]
    names = MemberNames(members)
    assert [names.of(member) for member in members] == ["blue", "app", "m-3"]


def test_members_of_one_name_are_told_apart_by_their_member_ids():
    names = MemberNames([ref(f"app-{UUID}"), ref("app-without-uuid"), ref("other", "else")])
    assert [names.by_id(each) for each in (f"app-{UUID}", "app-without-uuid", "other")] == [
        "app-5f1c0c4e",
        "app-out-uuid",
        "else",
    ]


def test_an_unknown_member_has_its_own_name():
    names = MemberNames([])
    assert (names.by_id("m"), names.of(ref("m"))) == ("m", "app")


def test_members_that_are_gone_have_names_too():
    history = board_of(story()).groups[GROUP_ID]
    gone = next(
        generation.changes.removed[0].member for generation in history.generations if generation.changes.removed
    )
    assert MemberNames.of_history(history).by_id(gone.member_id) == "b"
