"""What polls of admin APIs show of a group, one after the other, is its history: who and when, and no guessed cause."""

from collections.abc import Sequence
from typing import Final

import msgspec
import pytest

from coordinator.audit.schema import TAGS, TopicPartitions
from coordinator.client.group_members import DescribedMember
from coordinator.explain.claims.notes import Loaded
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.makers.notes import note_claims
from coordinator.explain.sentences.notes import note
from coordinator.explain.story import story_of
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group_stream import GroupStream, LoggedStatement, PollOfGroup
from coordinator.observe.history import ObservedHistory
from coordinator.observe.kept_group import decode_group, encode_group
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup
from coordinator.observe.places import Place, Source
from coordinator.observe.poll import DESCRIBED_BY, LIST_GROUPS, PresentGroup
from coordinator.observe.records.stored import ClassicGroup, ClassicMember
from coordinator.observe.words import sources_of

T0: Final = 1_700_000_000_000
EVERY_MS: Final = 30_000
GROUP: Final = "billing"


def at(ms: int) -> str:
    return f"{(ms - T0) // 1_000}s"


def member(name: str, *partitions: int, epoch: int | None = None, topic: str = "orders") -> DescribedMember:
    owned: TopicPartitions = {topic: list(partitions)} if partitions else {}
    return DescribedMember(f"{name}-id", name, "/10.0.0.1", None, owned, epoch, topics=(topic,))


def present(
    number: int, *members: DescribedMember, kind: str = "classic", epoch: int | None = None, state: str = ""
) -> PresentGroup:
    """At poll `number`."""
    place = Place(Source.POLL, DESCRIBED_BY[kind], T0 + number * EVERY_MS, broker_id=1)
    found = state or ("Stable" if members else "Empty")
    return PresentGroup(place, GROUP, kind, found, "consumer", "range", epoch, list(members), [])


class Polls:
    """Polls of one group, and lines between them, on a clock in seconds."""

    def __init__(self, *, has_records: bool = False) -> None:
        self.stream = GroupStream(GROUP, str, has_records=has_records)
        self.events: list[ObservedEvent] = []
        self.now = 0.0

    def poll(self, group: PresentGroup | None, *, absent_ms: int | None = None, number: int = 0) -> list[str]:
        place = Place(Source.POLL, LIST_GROUPS, T0 + number * EVERY_MS) if group is None else group.place
        self.now += EVERY_MS / 1_000
        self.stream.put_poll(PollOfGroup(group, place, self.now, absent_ms), self.now)
        return self.emit()

    def line(self, statement: OfGroup, number: int) -> list[str]:
        self.now += 1
        self.stream.put_line(LoggedStatement(statement, "server.log", (0, number), statement.place.time_ms), self.now)
        return self.emit()

    def emit(self) -> list[str]:
        found = self.stream.emit(lambda _: True, self.now)
        self.events += found
        return [TAGS[type(each.event)] for each in found]

    def restart(self) -> None:
        """As a watcher that was killed goes on."""
        kept = encode_group(self.stream.kept)
        self.stream = GroupStream(GROUP, str, has_records=False)
        self.stream.go_on(decode_group(kept), self.now)

    @property
    def history(self) -> ObservedHistory:
        return ObservedHistory.of_observed(GROUP, self.events)


def stories(history: ObservedHistory) -> list[str]:
    return [
        f"{story_of(history, generation, at).headline}. {sources_of(history, claims_of(history, generation).cause, at)}"
        for generation in history.generations
    ]


def test_who_came_and_went_between_polls_of_a_classic_group():
    polls = Polls()
    assert polls.poll(present(0, member("a", 0, 1))) == ["group.snapshot"]
    assert polls.poll(present(1, member("a", 0, 1))) == []
    polls.poll(present(2, member("a", 0), member("b", 1)))
    polls.poll(present(3, member("b", 0, 1)))
    polls.poll(present(4))
    history = polls.history
    assert stories(history) == [
        "generation 0 was stable at 0s; why it began is not among the events. Seen: the poll at 0s shows it"
        " (DescribeGroups).",
        "generation 1 began because b (10.0.0.1) joined, and was stable at 60s."
        " Inferred: between the polls at 30s and 60s (DescribeGroups).",
        "generation 2 began because a (10.0.0.1) is gone: it left, or its session expired, and was stable at 90s."
        " Inferred: between the polls at 60s and 90s (DescribeGroups).",
        "generation 3 began because b (10.0.0.1) is gone: it left, or its session expired."
        " Inferred: between the polls at 90s and 120s (DescribeGroups).",
    ]
    assert history.begins_in_the_middle
    assert history.counts_polls
    assert (history.state, list(history.members)) == ("Empty", [])


def test_nothing_is_said_of_how_long_partitions_had_no_owner():
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1)))
    polls.poll(present(1))
    polls.poll(present(2, member("b", 0, 1)))
    history = polls.history
    told = " ".join(story_of(history, history.generations[-1], at).paragraphs)
    assert "2 of 2 partitions moved" in told
    assert "consumed" not in told


@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
def test_epochs_that_polls_see(kind: str):
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1), kind=kind, epoch=3))
    assert "generation.stable" not in polls.poll(
        present(1, member("a", 0), member("b"), kind=kind, epoch=4, state="Reconciling")
    )
    assert polls.poll(present(2, member("a", 0), member("b", 1), kind=kind, epoch=4)) == [
        "member.assigned",
        "generation.stable",
    ]
    polls.poll(present(3, member("a", 0), member("b", 1), kind=kind, epoch=9))
    history = polls.history
    assert [generation.generation_id for generation in history.generations] == [3, 4, 9]
    assert not history.counts_polls
    api = DESCRIBED_BY[kind]
    assert stories(history)[1:] == [
        f"group epoch 4 began because b (10.0.0.1) joined, and was stable at 60s. Inferred: between the polls at 0s and"
        f" 30s ({api}).",
        f"group epoch 9 was stable at 90s; why it began is not among the events. Inferred: between the polls at 60s and"
        f" 90s ({api}).",
    ]
    moved = [
        paragraph for paragraph in story_of(history, history.generations[1], at).paragraphs if "moved" in paragraph
    ]
    assert bool(moved) == (kind != "share")  # several members of a share group read a partition


def test_an_epoch_that_was_open_and_is_followed_by_another_one_may_have_been_stable_meanwhile():
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1), kind="consumer", epoch=3))
    polls.poll(present(1, member("a", 0), member("b"), kind="consumer", epoch=4, state="Reconciling"))
    polls.poll(present(2, member("a", 0), member("b", 1), kind="consumer", epoch=6))
    assert [str(generation.outcome) for generation in polls.history.generations] == ["stable", "unknown", "stable"]


def test_a_group_that_was_not_there_at_the_poll_before_is_new():
    polls = Polls()
    told = polls.poll(present(1, member("a", 0, 1)), absent_ms=T0)
    assert told[:3] == ["group.created", "member.joined", "rebalance.started"]
    assert told[-1] == "generation.stable"
    assert [place.time_ms for place in polls.events[0].places] == [T0, T0 + EVERY_MS]
    assert not polls.history.begins_in_the_middle
    assert polls.poll(None, number=2) == ["member.removed", "group.removed"]
    assert polls.poll(None, number=3) == []
    assert polls.poll(present(4, member("b", 0, 1)))[0] == "group.created"
    assert polls.events[-1].event.generation_id == 1


def test_a_new_group_that_could_not_be_described_at_once_is_new():
    """As one that is made while it is polled: it is listed, and described as none."""
    polls = Polls()
    listed = present(1)
    listed.place = Place(Source.POLL, LIST_GROUPS, T0 + EVERY_MS)
    assert polls.poll(listed, absent_ms=T0) == []
    assert polls.poll(present(2, member("a", 0, 1)))[0] == "group.created"
    assert [place.time_ms for place in polls.events[0].places] == [T0, T0 + 2 * EVERY_MS]


def test_a_group_of_an_earlier_epoch_is_another_one_and_one_of_another_protocol_with_a_member_goes_on():
    polls = Polls()
    polls.poll(present(0, member("a", 0), kind="consumer", epoch=7))
    assert polls.poll(present(1, member("b", 0), kind="consumer", epoch=2))[:2] == ["group.removed", "group.created"]
    assert polls.poll(present(2, member("b", 0)))[0] == "group.converted"
    assert polls.history.group_type == "classic"


def test_another_broker_coordinates_the_group_than_at_the_poll_before():
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1)))
    moved = present(1, member("a", 0, 1))
    moved.place = msgspec.structs.replace(moved.place, broker_id=2)
    assert polls.poll(moved) == ["group.loaded"]
    again = present(2, member("a", 0, 1))
    again.place = msgspec.structs.replace(again.place, broker_id=2)
    assert polls.poll(again) == []
    (claim,) = [note_claim for note_claim in note_claims(polls.history) if isinstance(note_claim, Loaded)]
    assert note(claim) == "the group moved from broker 1 to broker 2"
    assert [str(generation.outcome) for generation in polls.history.generations] == ["stable"]


def test_a_classic_group_in_the_middle_of_a_rebalance_is_told_when_it_is_stable():
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1)))
    assert polls.poll(present(1, member("a"), member("b"), state="PreparingRebalance")) == []
    assert "member.joined" in polls.poll(present(2, member("a", 0), member("b", 1)))


def test_another_subscription():
    polls = Polls()
    polls.poll(present(0, member("a", 0)))
    told = polls.poll(present(1, member("a", 0, topic="payments")))
    assert told[:2] == ["member.rejoined", "rebalance.started"]


def test_a_watcher_that_was_killed_tells_nothing_twice_and_when_it_saw_the_group_last():
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1)))
    polls.restart()
    assert polls.poll(present(1, member("a", 0, 1))) == []
    polls.restart()
    polls.poll(present(5, member("b", 0, 1)))
    began = next(event for event in polls.events if TAGS[type(event.event)] == "rebalance.started")
    assert [at(place.time_ms) for place in began.places] == ["0s", "150s"]


def test_what_is_kept_changes_only_if_something_was_told():
    polls = Polls()
    polls.poll(present(0, member("a", 0)))
    polls.stream.is_changed = False
    polls.poll(present(1, member("a", 0)))
    assert not polls.stream.is_changed
    polls.poll(present(2, member("b", 0)))
    assert polls.stream.is_changed


def lines_of_a_join(generation: int, name: str, number: int, at_ms: int) -> Sequence[OfGroup]:
    def place(position: int) -> Place:
        return Place(Source.BROKER_LOG, "server.log", at_ms + position, position)

    return (
        said.MemberAdded(place=place(number), group_id=GROUP, member_id=f"{name}-id"),
        said.RebalancePrepared(
            place=place(number + 1),
            group_id=GROUP,
            generation_before=generation - 1,
            reason=said.Reason.NEW_MEMBER,
            text="",
            member_ids=(f"{name}-id",),
        ),
        said.GroupStabilized(place=place(number + 2), group_id=GROUP, generation_id=generation, members=1),
        said.AssignmentReceived(place=place(number + 3), group_id=GROUP, generation_id=generation, members=1),
    )


def test_what_lines_tell_is_not_told_by_polls_again():
    """A poll adds who owns what, which no line says; and no generation of its own."""
    polls = Polls()
    for number, line in enumerate(lines_of_a_join(1, "a", 1, T0)):
        polls.line(line, number + 1)
    assert polls.history.generation_id == 1
    assert polls.poll(present(1, member("a", 0, 1))) == ["group.snapshot"]
    assert polls.poll(present(2, member("a", 0, 1))) == []
    for number, line in enumerate(lines_of_a_join(2, "b", 5, T0 + 70_000)):
        polls.line(line, number + 5)
    assert polls.poll(present(3, member("a", 0), member("b", 1))) == ["group.snapshot"]
    history = polls.history
    assert [TAGS[type(event.event)] for event in polls.events].count("member.joined") == 2
    assert [generation.generation_id for generation in history.generations] == [1, 2]
    assert {member_id: known.partitions for member_id, known in history.members.items()} == {
        "a-id": {"orders": [0]},
        "b-id": {"orders": [1]},
    }


def test_a_poll_tells_when_an_epoch_that_lines_began_is_stable():
    """No line of Kafka 4 says that, nor who owns what."""
    polls = Polls()

    def place(number: int) -> Place:
        return Place(Source.BROKER_LOG, "server.log", T0 + number, number)

    lines = (
        said.ConsumerJoined(place=place(1), group_id=GROUP, member_id="a-id", protocol="consumer"),
        said.EpochBumped(place=place(2), group_id=GROUP, epoch=1, metadata_hash=1),
        said.TargetComputed(place=place(3), group_id=GROUP, epoch=1, assignor="uniform"),
    )
    for number, line in enumerate(lines):
        polls.line(line, number + 1)
    assert [str(generation.outcome) for generation in polls.history.generations] == ["in_progress"]
    assert polls.poll(present(1, member("a", 0, 1), kind="consumer", epoch=1)) == [
        "member.assigned",
        "generation.stable",
    ]
    assert polls.poll(present(2, member("a", 0, 1), kind="consumer", epoch=1)) == []
    history = polls.history
    assert [(generation.generation_id, str(generation.outcome)) for generation in history.generations] == [
        (1, "stable")
    ]
    assert polls.poll(present(3, member("a", 0), kind="consumer", epoch=1)) == ["group.snapshot"]


def test_a_poll_that_was_asked_before_a_line_was_read_is_left_out():
    """What it shows may be older than what the line tells; the next one is not."""
    polls = Polls()
    polls.poll(present(0, member("a", 0, 1)))
    group = present(1, member("a", 0, 1))
    polls.stream.put_poll(PollOfGroup(group, group.place, polls.now + 1), polls.now + 1)
    polls.now += 1
    place = Place(Source.BROKER_LOG, "server.log", T0 + EVERY_MS, 1)
    left = said.GroupEmptied(place=place, group_id=GROUP, generation_id=2)
    assert polls.line(left, 1)[-1] == "group.emptied"
    assert polls.history.members == {}
    assert polls.poll(present(2)) == []


def test_records_that_may_be_read_by_now_count_otherwise_than_polls_did():
    """A watcher that is started again with the right to read them: nothing says that the group was gone."""
    polls = Polls()
    for number in range(5):
        polls.poll(present(number, member("a" if number % 2 else "b", 0, 1)))
    kept = encode_group(polls.stream.kept)
    polls.stream = GroupStream(GROUP, str, has_records=True)
    polls.stream.go_on(decode_group(kept), polls.now)
    members = [ClassicMember("c-id", "c", "/10.0.0.1", None, ["orders"], b"", {"orders": [0, 1]})]
    record = ClassicGroup(GROUP, 2, "consumer", "range", "c-id", -1, members)
    polls.stream.put_record(Place(Source.RECORD, "__consumer_offsets-1", T0 + 200_000, 7), record, polls.now)
    told = polls.emit()
    assert "group.removed" not in told
    assert told[-1] == "generation.stable"
    assert polls.history.generation_id == 2


def test_a_group_with_too_many_partitions_names_none():
    polls = Polls()
    polls.poll(present(0, member("a", *range(60_000)), member("b", *range(60_000, 120_000))))
    (event,) = polls.events
    assert [(member.partitions, member.unnamed_partitions) for member in event.event.members] == [({}, 60_000)] * 2  # type: ignore[attr-defined]
