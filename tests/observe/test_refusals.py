"""Who could not join: brokers log next to nothing of it, the clients that were refused do."""

from datetime import UTC
from pathlib import Path

from coordinator.audit.schema import REJECTION_APART_MS, TAGS
from coordinator.explain.findings import findings
from coordinator.explain.words import utc_clock
from coordinator.observe.group_so_far import MemberSoFar
from coordinator.observe.group_stream import GroupStream, LoggedClient
from coordinator.observe.history import ObservedHistory
from coordinator.observe.kept_group import decode_group, encode_group
from coordinator.observe.logs.client_statements import JoinFailed, Library
from coordinator.observe.places import Place, Source
from coordinator.observe.refusals import Refusal, Refusals
from coordinator.observe.sources import LogOptions, observe_group
from tests.observe.recordings import recordings

T0 = 1_700_000_000_000
GROUP = "g-group_full"


def refused_lines(count: int) -> str:
    """As kafka-python writes them, a second apart, when the recorded group had all its members."""
    return "".join(
        f"2026-11-28 08:11:{40 + number},365 ERROR kafka.coordinator Attempt to join group {GROUP} failed due to fatal"
        " error: [Error 81] GroupMaxSizeReachedError\n"
        for number in range(count)
    )


def history_of(folder: Path, client: str) -> ObservedHistory:
    (recording,) = [each for each in recordings() if each.name == "group_full/3.9.1-classic"]
    assert recording.groups == (GROUP,)
    broker, path = folder / "server.log", folder / "client.log"
    broker.write_bytes(recording.log)
    path.write_text(client)
    paths = (str(path),) if client else ()
    return observe_group(GROUP, None, LogOptions((str(broker),), paths, "auto", UTC)).history


def test_a_client_says_that_it_was_refused_and_the_broker_does_not(tmp_path: Path):
    assert not history_of(tmp_path, "").rejected
    history = history_of(tmp_path, refused_lines(12))
    assert [(each.error, each.count) for each in history.rejected] == [
        ("GROUP_MAX_SIZE_REACHED", 1),
        ("GROUP_MAX_SIZE_REACHED", 10),
    ]
    places = [place for each in history.rejected for place in history.observed[each.seq].places]
    assert {place.source for place in places} == {Source.CLIENT_LOG}


def test_the_sentence_says_which_error_how_often_and_since_when(tmp_path: Path):
    history = history_of(tmp_path, refused_lines(12))
    last = history.rejected[-1]
    (said,) = [finding for finding in findings(history, last.time_ms, utc_clock) if "cannot join" in finding.headline]
    assert "the group is full (group.max.size)" in said.headline
    assert said.evidence[0] == (
        "refused at 08:11:49 UTC with GROUP_MAX_SIZE_REACHED, 10 times so far, since 08:11:40 UTC"
    )


def failed(number: int, at_ms: int, error: str = "GROUP_MAX_SIZE_REACHED") -> LoggedClient:
    place = Place(Source.CLIENT_LOG, "client.log", at_ms, number)
    statement = JoinFailed(
        place=place, library=Library.JAVA, client_id="pod-9", group_id="billing", error=error, is_fatal=True
    )
    return LoggedClient(statement, "client.log", (0, number))


def test_a_client_that_asks_again_and_again_is_told_now_and_then_with_how_often_also_after_a_kill():
    stream = GroupStream("billing", str, has_records=False)
    told = []
    for number in range(1, 101):
        assert stream.put_client(failed(number, T0 + number * 100))
        told += stream.emitted_at_once()
        if number == 50:
            kept = encode_group(stream.kept)
            stream = GroupStream("billing", str, has_records=False)
            stream.go_on(decode_group(kept), 0.0)
            assert not stream.put_client(failed(number, T0 + number * 100))  # it was read before
    assert [TAGS[type(line.event)] for line in told] == ["request.rejected"] * 3
    assert [line.event.count for line in told] == [1, 10, 100]  # type: ignore[attr-defined]


def test_what_is_part_of_a_rebalance_is_no_refusal():
    stream = GroupStream("billing", str, has_records=False)
    stream.put_client(failed(1, T0, "REBALANCE_IN_PROGRESS"))
    assert stream.emitted_at_once() == []


def test_while_it_goes_on_it_is_told_again():
    counted = Refusals()
    refusal = Refusal("JoinGroup", "GROUP_MAX_SIZE_REACHED", MemberSoFar("", "pod-9", ""))
    found = [counted.count(refusal, T0 + each * (REJECTION_APART_MS // 2)) for each in range(5)]
    assert found == [1, None, 3, None, 5]


def test_clients_without_end_are_not_remembered_without_end():
    counted = Refusals()
    for number in range(1_000):
        counted.count(Refusal("JoinGroup", "GROUP_MAX_SIZE_REACHED", MemberSoFar("", f"pod-{number}", "")), T0)
    assert len(counted.counts) <= 100
