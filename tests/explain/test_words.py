import pytest

from coordinator.audit.schema import MemberRef, Requester
from coordinator.explain.words import Names, counted, duration, listed, plain, quoted, requester, utc_clock

UUID = "7f3a2b1c-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (4_050, "4 s"),
        (10_240, "10.2 s"),
        (59_949, "59.9 s"),
        (59_950, "1 min"),
        (60_000, "1 min"),
        (125_000, "2 min 5 s"),
        (3_599_000, "59 min 59 s"),
        (3_600_000, "1 h"),
        (11_400_000, "3 h 10 min"),
        (86_399_999, "1 d"),
        (100 * 86_400_000, "100 d"),
    ],
)
def test_durations(ms, said):
    assert duration(ms) == said


def test_singular_and_plural():
    assert [counted(count, "member") for count in (0, 1, 1_200)] == ["0 members", "1 member", "1,200 members"]


def test_lists():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b"], more=3) == "a, b and 3 more"
    assert listed([]) == ""


@pytest.mark.parametrize("hostile", ["a\x1b[2Jb", "a\nb", "a\x9b31mb", "a\u202eb", "a\0b"])
def test_texts_of_clients_have_no_control_characters(hostile):
    assert plain(hostile).isprintable()
    assert quoted(hostile).isprintable()


def test_a_name_that_reads_like_words_is_quoted():
    assert plain("billing-3") == "billing-3"
    assert plain("x because all is well") == '"x because all is well"'
    assert plain('x" because "') == repr('x" because "')


def test_a_member_is_called_by_its_instance_id_or_client_id():
    first, second = MemberRef(f"app-{UUID}", "app", "/10.0.0.1"), MemberRef("other", "app", "/10.0.0.2", "static-1")
    names = Names([first, second])
    assert (names.of(first), names.of(second)) == ("app", "static-1")


def test_members_that_share_a_client_id_are_told_apart():
    first = MemberRef(f"rdkafka-{UUID}", "rdkafka")
    second = MemberRef(f"rdkafka-{UUID.replace('7', '8', 1)}", "rdkafka")
    names = Names([first, second])
    assert names.listed([first, second]) == "rdkafka-7f3a2b1c and rdkafka-8f3a2b1c"


def test_members_of_consumer_groups_that_share_a_client_id_are_told_apart():
    """Their ids are their own (KIP-848), and have nothing of the client id."""
    first, second = MemberRef("n3mJ9ZfCT2-bhLgXq0rA1w", "app"), MemberRef("Vd0x1YkPQz6cJ8mT5uB7eA", "app")
    names = Names([first, second])
    assert names.listed([first, second]) == "app-n3mJ9ZfC and app-Vd0x1YkP"


def test_ids_that_begin_alike_are_told_whole():
    first, second = MemberRef("app-0000000001", "app"), MemberRef("app-0000000002", "app")
    names = Names([first, second])
    assert names.listed([first, second]) == "app-0000000001 and app-0000000002"


def test_the_software_is_named_when_it_is_known():
    member = MemberRef("m", "billing-3", "/10.0.4.7", None, "librdkafka", "2.6.1")
    assert Names([member]).full(member) == "billing-3 (10.0.4.7, librdkafka 2.6.1)"
    assert requester(Requester("cli", "/10.0.0.9", "User:root")) == "User:root (cli, 10.0.0.9)"


@pytest.mark.parametrize("time_ms", [2**63 - 1, -(2**63)])
def test_a_time_that_no_calendar_has_is_told_as_a_number(time_ms: int):
    assert utc_clock(time_ms) == f"{time_ms} ms"


def test_the_principal_is_named_when_it_is_known():
    member = MemberRef("m", "billing-3", "/10.0.4.7", None, "librdkafka", "2.6.1", "User:alice")
    assert Names([member]).full(member) == "billing-3 (User:alice, 10.0.4.7, librdkafka 2.6.1)"
    assert requester(Requester("", "", "User:root")) == "User:root"
    assert requester(Requester("", "/10.0.0.9", "User:root")) == "User:root (10.0.0.9)"
