"""Findings and storms as tables: those that `coordinator/explain` finds, told once, over when they are over."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from coordinator.audit.schema import AuditEvent, GroupHeldByCluster, MemberRef, OffsetsCommitted, encode_event
from coordinator.cli import main
from coordinator.core.causes import Cause
from coordinator.explain.findings import findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import GENERATIONS_REMEMBERED
from coordinator.explain.storms import GROUP_STORM_REBALANCES
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.fold import Fold, Position
from coordinator.pipeline.names import FINDINGS
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.reader import query, read_findings, read_storms
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.tables import Tables
from tests.pipeline.histories import realistic
from tests.pipeline.history import History, member
from tests.pipeline.records import records

A = member("a")


def stormy(group_id: str = "orders", rebalances: int = GROUP_STORM_REBALANCES) -> History:
    history = History(group_id).created()
    for _ in range(rebalances):
        history.stable_with(Cause.LEADER_REJOINED, A, members=2)
    return history


def taken_in(tables: Tables, batches: list[list[bytes]]) -> Tables:
    writer, offset = Batches(tables), 0
    for batch_id, values in enumerate(batches):
        writer.add_records(records(values, offset), batch_id)
        offset += len(values)
    return tables


def told(tables: Tables) -> list[tuple[Any, ...]]:
    return [(row["group_id"], row["kind"], row["headline"], row["evidence"]) for row in read_findings(tables.root)]


def found(events: list[AuditEvent]) -> list[tuple[Any, ...]]:
    history = GroupHistory.of(events[0].group_id, events)
    return [
        (history.group_id, finding.kind, finding.headline, list(finding.evidence))
        for finding in sorted(findings(history, history.last_ms or 0), key=lambda each: (each.until_ms, each.kind))
    ]


def held(*clients: str, time_ms: int) -> bytes:
    members = [MemberRef(f"{client}-id", client, "/10.0.0.1") for client in clients]
    event = GroupHeldByCluster(
        time_ms=time_ms, node_id=1, coordinator_epoch=1, group_id="web", members=members, since_ms=1
    )
    return encode_event(event)


def test_members_at_the_cluster_are_told_until_they_have_left(tables: Tables):
    taken_in(tables, [[held("a", time_ms=1)], [held("a", "b", time_ms=2)]])
    (finding,) = told(tables)
    assert finding[2] == "the cluster coordinates the group: a (10.0.0.1) and b (10.0.0.1) are in it there"


def test_members_at_the_cluster_that_have_left_are_told_no_more(tables: Tables):
    """In whichever order the rows are read."""
    taken_in(tables, [[held("a", time_ms=1)], [held(time_ms=2)]])
    assert told(tables) == []
    path = tables.root / FINDINGS
    rows = DeltaTable(path).to_pyarrow_table().sort_by("time_at")
    for place in ([0, 1], [1, 0]):
        write_deltalake(path, rows.take(place), mode="overwrite")
        assert told(tables) == []


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_the_table_tells_what_the_findings_are_however_the_events_came(tables: Tables, size: int):
    history = stormy(rebalances=12)
    values = history.values()
    taken_in(tables, [values[first : first + size] for first in range(0, len(values), size)])
    assert told(tables) == found(history.events) != []


def test_a_finding_names_its_generations_and_when(tables: Tables):
    taken_in(tables, [stormy().values()])
    (row,) = read_findings(tables.root)
    assert (row["first_generation_id"], row["last_generation_id"]) == (1, GROUP_STORM_REBALANCES)
    assert row["from_at"] < row["until_at"]
    assert "leader rejoined: 6" in row["evidence"]


def test_a_batch_that_changes_no_evidence_tells_nothing(tables: Tables):
    history = stormy()
    before = len(history.events)
    own: dict[str, Any] = {
        "interval_ms": 60_000,
        "commits": 1,
        "partitions": 1,
        "first_log_offset": 1,
        "last_log_offset": 1,
    }
    history.add(OffsetsCommitted, "Stable", **own)
    values = history.values()
    taken_in(tables, [values[:before], values[before:]])
    assert len(query(tables.root, (FINDINGS,), "SELECT * FROM findings")) == 1


def test_what_is_over_is_told_and_no_longer_read(tables: Tables):
    history = stormy()
    first = len(history.events)
    for _ in range(GENERATIONS_REMEMBERED + 1):
        history.now_ms += 3_600_000
        history.stable_with(Cause.LEADER_REJOINED, A, members=2)
    values = history.values()
    taken_in(tables, [values[:first], values[first:]])
    rows = query(tables.root, (FINDINGS,), "SELECT * FROM findings ORDER BY seq")
    assert [row["is_over"] for row in rows if row["kind"] == "rebalance_storm"] == [False, True]
    assert "rebalance_storm" not in {row[1] for row in told(tables)}


def test_a_batch_that_runs_again_tells_the_same(tables: Tables):
    values = stormy().values()
    taken_in(tables, [values])
    Batches(tables).add_records(records(values), 0)
    assert len(query(tables.root, (FINDINGS,), "SELECT * FROM findings")) == 1


def test_what_is_remembered_of_a_group_is_bounded():
    sizes = []
    for seed in range(4):
        values = realistic(20_000, seed=seed)
        fold = Fold(PartitionState(), NewRows())
        fold.add_records(values, [Position(0, place, 1) for place in range(len(values))])
        changes = fold.finish()
        groups = [changes.group(name) for name in changes.groups]
        sizes.append(max(len(group.memory) for group in groups if group is not None))
    assert max(sizes) < 20_000


def test_events_of_unknown_kinds_are_passed_over():
    values = [value.replace(b'"group.created"', b'"group.dreamed"') for value in stormy().values()]
    rows = NewRows()
    fold = Fold(PartitionState(), rows)
    fold.add_records(values, [Position(0, place, 1) for place in range(len(values))])
    fold.finish()
    assert [row["kind"] for row in rows[FINDINGS]] == ["rebalance_storm"]


def test_storms_are_those_of_groups_and_of_the_cluster(tables: Tables):
    groups = [stormy(f"group-{number}", 12).values() for number in range(4)]
    quiet = stormy("quiet", 2).values()
    taken_in(tables, [*groups[:2], [*groups[2], *groups[3], *quiet]])
    storms = read_storms(tables.root)
    assert [storm.group_id for storm in storms] == [None, "group-0", "group-1", "group-2", "group-3"]
    assert (storms[0].rebalances, storms[0].group_count) == (50, 5)
    assert [storm.rebalances for storm in read_storms(tables.root, "group-1")] == [12]


@pytest.mark.parametrize(("what", "line"), [("--findings", "try: look at the most frequent"), ("--storms", "- leader")])
def test_they_are_shown(tables: Tables, what: str, line: str):
    taken_in(tables, [stormy("or\x1bders").values()])
    done = CliRunner().invoke(main, ["pipeline", "show", "--tables", str(tables.root), what])
    assert done.exit_code == 0, done.output
    assert "a storm: 6 rebalances" in done.output
    assert line in done.output
    assert "\x1b" not in done.output


def test_none_are_none(tables: Tables, tmp_path: Path):
    Batches(tables)
    done = CliRunner().invoke(main, ["pipeline", "show", "--tables", str(tables.root), "--storms", "--group", "g"])
    assert (done.exit_code, done.output) == (0, "no storms of group g\n")
