"""Ids and reasons that are made to be read as something else, or to look like lines of their own.

Brokers write texts of clients as they are. What is stated without doubt must be what the broker meant.
"""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.classic_rules import CLASSIC_RULES
from coordinator.observe.logs.consumer_rules import CONSUMER_RULES
from coordinator.observe.logs.coordinator_rules import COORDINATOR_RULES
from coordinator.observe.logs.reader import LogStatements, read_broker_logs
from coordinator.observe.logs.reasons import WITH_CLIENT_REASON, WITHOUT, is_dialect
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.statements import Reason
from coordinator.observe.logs.templates import STEPS_MAX, Kind, Template, TooManyReadings
from tests.examples import examples
from tests.observe.recordings import Recording, recordings, whole_runs

UUID: Final = "17653e31-fcf2-4a8a-bf7f-3a1c2d1d7b9f"
GC: Final = "(kafka.coordinator.group.GroupCoordinator)"
HEAD_AT: Final = "[2026-03-01 12:00:01,%03d] INFO "
EXPIRED: Final = f"in group victim has failed, removing it from the group {GC}"
FORGED: Final = f"[2026-01-01 00:00:00,000] INFO [GroupCoordinator 1]: Member f {EXPIRED}"
PIECES: Final = (
    *(
        "a",
        "orders",
        "client-1",
        " ",
        "\n",
        ", ",
        "'",
        '"',
        "[",
        "]",
        "(",
        ")",
        "null",
        "None",
        "Some(",
        "Set(",
        ".",
        "é",
        "0",
    ),
    *(
        " in group ",
        " joins group ",
        " with generation ",
        "] Member ",
        "] ",
        "[GroupId x] ",
        "; client reason: ",
        " (reason: ",
    ),
    *(
        " for generation 3. The group has 1 members, 0 of which are static.",
        " in state Stable",
        " has left group ",
        " with ",
    ),
    *(
        " with group instance id null",
        " with instance id ",
        " left the consumer group.",
        " on heartbeat expiration",
        "`LeaveGroup`",
    ),
    *(
        " in Empty state. Created a new member id ",
        f" {GC}",
        f"\n{FORGED}",
        f" {GC}\n{FORGED}",
        f"-{UUID}",
        f"x-{UUID}",
    ),
)
# " temporarily" is no piece: an instance id that ends so is read as the broker's own word, as Java allows no such id.
ids: Final = some.lists(some.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
texts: Final = some.one_of(some.just("not provided"), ids)
RULES: Final = [
    each
    for each in (*CLASSIC_RULES, *CONSUMER_RULES, *COORDINATOR_RULES)
    if any(kind in (Kind.GROUP, Kind.MEMBER, Kind.INSTANCE) for kind in each.template.kinds.values())
]


def rendered(template: Template, values: dict[str, str]) -> str:
    text = template.text
    for name, kind in template.kinds.items():
        for field in (f"{{{name}}}", f"{{{name}:{kind.name.lower().replace('_', '-')}}}"):
            text = text.replace(field, "\1" + name + "\2")
    return re.sub("\1(\\w+)\2", lambda match: values[match[1]], text)


def drawn(data: some.DataObject, template: Template) -> dict[str, str]:
    """Hostile values for all that clients choose, plain ones for what brokers write."""
    values: dict[str, str] = {}
    for name, kind in template.kinds.items():
        match kind:
            case Kind.INTEGER:
                values[name] = str(data.draw(some.integers(0, 99)))
            case Kind.STATE:
                values[name] = data.draw(some.sampled_from(["Stable", "Empty", "PreparingRebalance"]))
            case Kind.WORD | Kind.HOST:
                values[name] = "consumer" if name == "protocol" else "word"
            case Kind.SCALA_INSTANCE:
                values[name] = data.draw(some.one_of(some.just("None"), ids.map("Some({})".format)))
            case Kind.JAVA_INSTANCE:
                values[name] = data.draw(some.one_of(some.just("null"), ids))
            case Kind.SET:
                values[name] = f"[{', '.join(data.draw(some.lists(ids, min_size=1, max_size=3)))}]"
            case Kind.MEMBER:
                values[name] = data.draw(some.one_of(ids, ids.map(f"{{}}-{UUID}".format)))
            case _:
                values[name] = data.draw(ids if kind in (Kind.GROUP, Kind.INSTANCE) else texts)
    if "again" in values:
        values["again"] = values["member_id"]
    return values


def prefix_of(rule_text: str) -> str:
    if rule_text.startswith(("Loaded member MemberMetadata", "Group leader [member.id")):
        return ""
    java = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
    return java if rule_text.endswith(".") else "[GroupCoordinator 1]: "


def read(folder: Path, message: str, **options: Any) -> LogStatements:
    other = "INFO [Broker id=1] Leader t-0 starts (state.change.logger)"
    logger = GC if message.startswith("[") else "(kafka.coordinator.group.GroupMetadata$)"
    lines = (other, f"INFO {message} {logger}", other)
    path = folder / "server.log"
    path.write_text("".join(f"[2026-03-01 12:00:0{second},000] {line}\n" for second, line in enumerate(lines)))
    return read_broker_logs([str(path)], zone=UTC, **options)


def told(statement: said.Statement) -> dict[str, Any]:
    fields = msgspec.structs.asdict(statement)
    return {
        "kind": type(statement),
        **{
            k: v for k, v in fields.items() if k not in ("place", "is_doubtful", "is_zone_assumed", "offsets_partition")
        },
    }


def check(found: LogStatements, right: dict[str, Any], message: str) -> None:
    for statement in found.statements:
        if f" {GC}\n" in message:
            # The first part looks like a whole line, and may be one; the forged one after it must not pass.
            assert statement.is_doubtful or getattr(statement, "group_id", "") != "victim"
        elif not statement.is_doubtful:
            said_now = told(statement)
            # A reason may end early: nothing but the broker's own logger says where it ends.
            if str(right.get("client_reason", "")).startswith(f"{said_now.get('client_reason')} ("):
                said_now["client_reason"] = right["client_reason"]
            assert {name: said_now[name] for name in right} == right
    # What begins with a whole line that says nothing of interest cannot be told from that.
    is_bare = not message.startswith("[") and "\n" in message  # found by its logger, which is on another line
    is_bare = is_bare or re.search(r"[)}]\n", message) is not None  # looks like a whole line of another group
    assert found.statements or found.notes or is_bare or f" {GC}\n" in message, "the line has vanished"


PROFILE: Final = settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@pytest.mark.parametrize("rule", RULES, ids=lambda each: each.template.text[:70])
@pytest.mark.parametrize("knows", [False, True], ids=["alone", "group-known"])
def test_what_is_stated_without_doubt_is_what_was_meant(rule: Rule, knows: bool, tmp_path: Path) -> None:
    @PROFILE
    @given(some.data())
    def run(data: some.DataObject) -> None:
        values = drawn(data, rule.template)
        if rule.statement is said.RebalancePrepared and "reason" in values:
            return  # below
        group = values.get("group_id")
        groups = frozenset({group}) if knows and group is not None else None
        message = prefix_of(rule.template.text) + rendered(rule.template, values)
        found = read(tmp_path, message, groups=groups)
        right = {"kind": rule.statement, **rule.values(values)}
        for name in ("member_ids", "text", "offsets_partition"):
            right.pop(name, None)
        check(found, right, message)

    run()


@pytest.mark.parametrize(
    ("template", "reason"), [*WITH_CLIENT_REASON, *WITHOUT], ids=lambda each: getattr(each, "text", each)[:50]
)
@pytest.mark.parametrize("is_java", [False, True], ids=["scala", "java"])
def test_so_are_reasons(template: Template, reason: Reason, is_java: bool, tmp_path: Path) -> None:
    if not is_dialect(template, is_java):
        pytest.skip("only the other coordinator writes so")
    has_reason = any(template is each for each, _ in WITH_CLIENT_REASON)

    @PROFILE
    @given(some.data())
    def run(data: some.DataObject) -> None:
        values, group = drawn(data, template), data.draw(ids)
        text, client_reason = rendered(template, values), None
        if has_reason:
            client_reason = data.draw(texts)
            text = f"{text}; client reason: {client_reason}"
        head = f"Preparing to rebalance group {group} in state PreparingRebalance with old generation 4"
        java, scala = f"{head} (reason: {text}).", f"{head} (__consumer_offsets-7) (reason: {text})"
        message = f"[GroupCoordinator id=1] {java}" if is_java else f"[GroupCoordinator 1]: {scala}"
        right = {"kind": said.RebalancePrepared, "group_id": group, "generation_before": 4, "reason": reason}
        if template.text != "Adding new member {member_id}":
            right["client_reason"] = client_reason
            if "member_id" in values:
                right["member_ids"] = (values["member_id"],)
        check(read(tmp_path, message, groups=frozenset({group})), right, message)

    run()


@pytest.mark.parametrize("name", ["newline_names", "k_odd_names"])
def test_a_recorded_forged_line_is_doubtful(name: str, tmp_path: Path) -> None:
    for recording in recordings():
        if recording.case == name:
            path = tmp_path / "server.log"
            path.write_bytes(recording.log)
            found = read_broker_logs([str(path)], zone=UTC, groups=frozenset({"victim"})).statements
            assert found and all(each.is_doubtful for each in found if isinstance(each, said.OfGroup)), recording.name


@pytest.mark.parametrize("version", sorted(whole_runs()))
def test_so_it_is_in_a_whole_run(version: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(whole_runs()[version])
    found = read_broker_logs([str(path)], zone=UTC).statements
    groups = {each.group_id for each in found if isinstance(each, said.OfGroup) and not each.is_doubtful}
    assert "victim" not in groups and "other" not in groups
    assert len(groups) > (0 if "broker" in version else 5)
    doubtful = [each for each in found if each.is_doubtful]
    assert len(doubtful) < len(found) / 5


def test_the_line_after_a_forged_one_is_no_more_doubtful(tmp_path: Path) -> None:
    evil = f"Group evil\n{FORGED} transitioned to Dead in generation 2"
    log = f"{HEAD_AT % 1}[GroupMetadataManager brokerId=1] {evil} (kafka.coordinator.group.GroupMetadataManager)\n"
    path = tmp_path / "server.log"
    path.write_text(log + f"{HEAD_AT % 2}[GroupCoordinator 1]: Member m-{UUID} {EXPIRED.replace('victim', 'orders')}\n")
    found = read_broker_logs([str(path)], zone=UTC).statements
    assert [(each.group_id, each.is_doubtful) for each in found if isinstance(each, said.SessionExpired)] == [
        ("victim", True),
        ("orders", False),
    ]


@pytest.mark.parametrize("forged_at", ["2026-01-01 00:00:00,000", "2026-03-01 11:30:00,000"])
@pytest.mark.parametrize("count", [2, 15])
def test_forged_lines_of_one_time_are_no_clock_that_was_set(forged_at: str, count: int, tmp_path: Path) -> None:
    """Nor do they make the lines after them doubtful."""
    forged = FORGED.replace("2026-01-01 00:00:00,000", forged_at)
    lines = [forged.replace("Member f", f"Member f{number}") for number in range(count)]
    evil = "Group evil\n" + "\n".join(lines) + " transitioned to Dead in generation 2"
    other = "INFO [Broker id=1] Leader t-0 starts (state.change.logger)"
    log = f"{HEAD_AT % 1}[GroupMetadataManager brokerId=1] {evil} (kafka.coordinator.group.GroupMetadataManager)\n"
    real = f"{HEAD_AT % 2}[GroupCoordinator 1]: Member m-{UUID} {EXPIRED.replace('victim', 'orders')}\n"
    path = tmp_path / "server.log"
    path.write_text(f"[2026-03-01 12:00:00,000] {other}\n{log}{real}")
    found = read_broker_logs([str(path)], zone=UTC).statements
    expired = [(each.group_id, each.is_doubtful) for each in found if isinstance(each, said.SessionExpired)]
    assert expired[-1] == ("orders", False)
    assert set(expired[:-1]) == {("victim", True)}


def test_many_lines_at_once_after_a_clock_was_set_back(tmp_path: Path) -> None:
    """The last ones of them, and all that follows, are not doubtful."""
    head = "[2026-03-01 %02d:%02d:00,%03d] INFO [GroupCoordinator 1]: Member m-%02d-" + f"{UUID} {EXPIRED}\n"
    lines = [head % (12, 30, 0, 0), *(head % (12, 0, number, number) for number in range(1, 21))]
    lines += [head % (12, minute, 0, 20 + minute) for minute in range(1, 8)]
    path = tmp_path / "server.log"
    path.write_text("".join(lines))
    found = read_broker_logs([str(path)], zone=UTC).statements
    assert len(found) == len(lines)
    assert not any(each.is_doubtful for each in found[-10:])


ODD: Final = [recording for recording in recordings() if recording.case == "group_in_odd_names"]


@pytest.mark.parametrize("recording", ODD, ids=lambda each: each.name)
def test_odd_ids_are_read_right_without_doubt(recording: Recording, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(recording.log)
    found = read_broker_logs([str(path)], zone=UTC, groups=frozenset(recording.groups)).statements
    sure = [each for each in found if not each.is_doubtful]
    assert len(sure) >= len(found) - 1  # one reason has a logger's name in it
    members = {
        member for each in sure for member in (*getattr(each, "member_ids", ()), getattr(each, "member_id", None))
    }
    for truth in recording.truth:
        assert truth.member_id in members


def split_line(id_text: str) -> str:
    before = HEAD_AT % 0 + "[Broker id=1] x (state.change.logger)\n"
    message = f"Stabilized group {id_text} generation 3 (__consumer_offsets-7) with 1 members"
    return f"{before}{HEAD_AT % 1}[GroupCoordinator 1]: {message} {GC}\n"


@pytest.mark.parametrize(
    "middle",
    [
        "evil\n{}",
        f"evil {GC}\n{{}}",
        f"evil {GC}\n{{}}\n[2026-03-01 12:00:01,003] INFO evil",
        f"evil {GC}\n{{}}\n[2026-03-01 12:00:01,003] INFO [GroupCoordinator 1]: Stabilized group evil",
        "evil\n\tat java.lang.X\n{}\n",
        "evil\n" * 600 + "{}",
    ],
    ids=["plain", "logger-before", "head-after", "message-after", "trace", "far"],
)
def test_a_line_that_has_the_right_time_too(middle: str, tmp_path: Path) -> None:
    """As a client can write it that knows when the broker will."""
    forged = f"{HEAD_AT % 2}[GroupCoordinator 1]: Member f-{UUID} {EXPIRED}"
    path = tmp_path / "server.log"
    path.write_text(split_line(middle.format(forged)) + HEAD_AT % 9 + "[Broker id=1] y (state.change.logger)\n")
    found = read_broker_logs([str(path)], zone=UTC, groups=frozenset({"victim"})).statements
    assert all(each.is_doubtful for each in found), found


@pytest.mark.parametrize("size", [30, 300])
def test_texts_made_of_separators_take_bounded_time(size: int, tmp_path: Path) -> None:
    hostile = " in group x has left group y, clientId=, clientHost=" * size
    started = datetime.now(UTC)
    begin = f"Member MemberMetadata(memberId={hostile}, groupInstanceId=None, clientId={hostile}"
    message = f"[GroupCoordinator 1]: {begin}"
    read(tmp_path, message)
    for template in {rule.template for rule in RULES}:
        try:
            template.readings(rendered(template, dict.fromkeys(template.kinds, hostile)))
        except TooManyReadings:
            continue
    assert (datetime.now(UTC) - started).total_seconds() < 20
    assert STEPS_MAX <= 10_000
