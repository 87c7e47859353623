"""The table of generations says what a `GroupHistory` of all events says, wherever batches end."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.audit.schema import (
    AuditEvent,
    CoordinatorEvent,
    MemberRef,
    decode_coordinator_event,
    decode_event,
    encode_event,
)
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.pipeline.columns import arrow_table
from coordinator.pipeline.fold import Fold, Position
from coordinator.pipeline.generations import Row, row_of
from coordinator.pipeline.names import GENERATIONS, REJECTS
from coordinator.pipeline.partition_state import PartitionState, decode_state, encode_state, open_row
from coordinator.pipeline.rows import NewRows
from tests.audit.test_records import KINDS, VALUES, own_fields
from tests.examples import examples
from tests.explain.test_history import eventful as real_events
from tests.pipeline.histories import realistic
from tests.pipeline.history import eventful
from tests.pipeline.records import named
from tests.simulation.generator import history_of
from tests.simulation.playing import play

SIZES = (1, 2, 7, 50, 100_000)

Key = tuple[str, int, int]
"""Group, first and last `seq` of a generation."""


def rows_of(values: Sequence[bytes], size: int, rejects_max: int = 0) -> tuple[list[Row], dict[str, Row]]:
    """Those of `generations` and, by group, of `open_generations`. The state of each batch goes through its file."""
    state, found = PartitionState(), []
    for first in range(0, len(values), size):
        part = values[first : first + size]
        new = NewRows()
        fold = Fold(state, new)
        fold.add_records(part, [Position(0, first + place, 1) for place in range(len(part))])
        state.update(decode_state(encode_state(fold.finish())))
        rows = named(new)
        assert len(rows[REJECTS]) <= rejects_max
        found += rows[GENERATIONS]
    still_open = {name: open_row(encoded) for name, encoded in state.groups.items()}
    return found, {name: row for name, row in still_open.items() if row is not None}


def _event(value: bytes) -> AuditEvent | CoordinatorEvent:
    found: AuditEvent | CoordinatorEvent = (decode_coordinator_event if b'"group_id"' not in value else decode_event)(
        value
    )
    return found


def expected(values: Sequence[bytes]) -> tuple[dict[Key, Row], dict[str, Row]]:
    """As `rows_of`, from one history of all events per group, and of the coordinator, as `groups why` reads them.

    The sentence is that of the moment at which the generation ended: what the coordinator is told to have done in the
    same millisecond, or to have been, may come later. All else is that of the end, but what a crash took back.
    """
    events = [_event(value) for value in values]
    ended: dict[Key, Row] = {}
    still_open: dict[str, Row] = {}
    for group_id in dict.fromkeys(event.group_id for event in events if isinstance(event, AuditEvent)):
        history = GroupHistory(group_id, 100_000)
        told: dict[Key, Row] = {}
        for event in events:
            if isinstance(event, CoordinatorEvent):
                history.note_coordinator(event)
            elif event.group_id == group_id and history.apply(event):
                told |= {_key(each): row_of(history, each) for each in history.ended}
        for generation in history.generations:
            if generation.is_open:
                still_open[group_id] = row_of(history, generation)
            else:
                row = row_of(history, generation) | {"sentence": told[_key(generation)]["sentence"]}
                ended[_key(generation)] = told[_key(generation)] if generation.is_void else row
    return ended, still_open


def _key(generation: Generation) -> Key:
    return generation.group_id, generation.first_seq, generation.last_seq


def assert_same(values: Sequence[bytes], size: int) -> int:
    """Returns the number of rows."""
    rows, still_open = rows_of(values, size)
    wanted, wanted_open = expected(values)
    found: dict[Key, Row] = {(row["group_id"], row["first_seq"], row["last_seq"]): row for row in rows}
    assert len(found) == len(rows), "a generation has two rows"
    assert found == wanted
    assert still_open == wanted_open
    return len(rows)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_of_many_groups(seed: int, size: int):
    assert assert_same(realistic(1_500, seed=seed), size) > 100


@pytest.mark.parametrize("size", SIZES)
def test_of_each_kind_of_ending(size: int):
    assert_same(eventful().values(), size)
    assert_same([encode_event(real_event) for real_event in real_events()], size)


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_of_random_histories_of_the_real_core(first: int):
    chance, rows, told_of_coordinator = random.Random(first), 0, 0
    for seed in range(first, first + examples(20)):
        server = play(history_of(seed)).server
        values = [value for _, value, _ in server.replay_audit()]
        told_of_coordinator += sum(1 for value in values if isinstance(_event(value), CoordinatorEvent))
        rows += assert_same(values, chance.choice(SIZES))
    assert rows > 20 and told_of_coordinator > 0


@given(st.lists(st.sampled_from(KINDS), max_size=30), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_events_of_any_content_stop_nothing(kinds: list[type[AuditEvent]], data: st.DataObject):
    """Valid by their fields, in an order that no coordinator writes, with numbers at their limits."""
    values, names = [], st.sampled_from(["a", "b", "c"])
    for seq, kind in enumerate(kinds, 1):
        fields = {field.name: data.draw(VALUES[field.type]) for field in own_fields(kind)}
        if "member" in fields and fields["member"] is not None:
            fields["member"] = MemberRef(data.draw(names), "client")
        if "old_member_id" in fields:
            fields["old_member_id"] = data.draw(names)
        envelope: dict[str, Any] = {
            "group_id": "g",
            "seq": seq,
            "created_seq": data.draw(st.sampled_from([1, 1, 1, seq])),
            "time_ms": data.draw(st.sampled_from([0, 1_700_000_000_000, -(2**63) + 1, 2**63 - 1])),
            "node_id": 1,
            "coordinator_epoch": data.draw(st.sampled_from([1, 1, 2])),
            "generation_id_before": 0,
            "generation_id": data.draw(st.integers(0, 2)),
            "state_before": "",
            "state": data.draw(
                st.sampled_from(["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"])
            ),
        }
        values.append(encode_event(kind(**envelope, **fields)))
    rows, _ = rows_of(values, data.draw(st.sampled_from(SIZES)), len(values))
    assert arrow_table(GENERATIONS, rows).num_rows == len(rows)
