"""What can be asked of a coordinator in a test, the same for blocking and for async code: questions to its control."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypedDict

from coordinator.audit.schema import AuditEvent
from coordinator.explain.words import counted, were
from coordinator.faults.faults import FaultReport
from coordinator.testing.control import Control
from coordinator.testing.defaults import text_of
from coordinator.testing.deliveries import check_deliveries
from coordinator.testing.errors import TestingError, require_whole
from coordinator.testing.records import Content, keyed
from coordinator.testing.snapshots import GroupSnapshot


class Expected(TypedDict, total=False):
    """The keywords of `Group.assert_rebalances`, which describes them."""

    at_least: int | None
    causes: Collection[str] | None
    after_generation: int


class ExpectedDeliveries(TypedDict, total=False):
    """The keywords of `Group.assert_delivered`, which describes them."""

    at_least: int | None
    records: int | None


def produce(
    topic: str, values: Iterable[Content], keys: Iterable[Content] | None, partition: int | None
) -> Callable[[Control], list[tuple[int, int]]]:
    records = keyed(values, keys)
    return lambda control: control.produce(topic, records, partition)


def events(group_id: str) -> Callable[[Control], list[AuditEvent]]:
    return lambda control: control.events(group_id)


def story(group_id: str, generation: int | None) -> Callable[[Control], str]:
    def why_of(control: Control) -> str:
        from coordinator.testing.stories import why  # 15 ms, which most tests do not need

        return why(control.history(group_id), generation)

    return why_of


def rebalances(
    group_id: str,
    at_most: int | None = None,
    at_least: int | None = None,
    causes: Collection[str] | None = None,
    after_generation: int = 0,
) -> Callable[[Control], None]:
    """Raises TestingError: nothing is expected, so that the check could not fail, or a number cannot be."""
    if at_most is None and at_least is None and causes is None:
        raise TestingError("nothing is expected: give at_most, at_least or causes")
    for name, number in (("at_most", at_most), ("at_least", at_least), ("after_generation", after_generation)):
        require_whole(name, number)
    if isinstance(causes, str):
        causes = {causes}

    def check(control: Control) -> None:
        from coordinator.testing.stories import check_rebalances  # as above

        check_rebalances(control.history(group_id), at_most, at_least, causes, after_generation)

    return check


def configure(group_id: str, configs: Mapping[str, Any]) -> Callable[[Control], None]:
    texts = {name: text_of(value) for name, value in configs.items()}
    return lambda control: control.configure_group(group_id, texts)


def deliveries(
    group_id: str, at_most: int | None = None, at_least: int | None = None, records: int | None = None
) -> Callable[[Control], None]:
    """Raises TestingError: nothing is expected, so that the check could not fail, or a number cannot be."""
    if at_most is None and at_least is None and records is None:
        raise TestingError("nothing is expected: give at_most, at_least or records")
    for name, number in (("at_most", at_most), ("at_least", at_least), ("records", records)):
        require_whole(name, number)
    return lambda control: check_deliveries(group_id, control.deliveries(group_id), at_most, at_least, records)


def group(group_id: str) -> Callable[[Control], GroupSnapshot]:
    return lambda control: control.group(group_id)


def wait_for_group(
    group_id: str,
    state: str | None,
    members: int | None,
    generation: int | None,
    partitions: int | None,
    timeout: float,
) -> Callable[[Control], Awaitable[GroupSnapshot]]:
    return lambda control: control.wait_for_group(group_id, state, members, generation, partitions, timeout)


def all_hit() -> Callable[[Control], None]:
    def check(control: Control) -> None:
        check_all_hit(control.faults.reports())

    return check


def check_all_hit(reports: Iterable[FaultReport]) -> None:
    """Raises AssertionError: a fault had no effect; the message names each."""
    unhit = [report.in_words() for report in reports if not report.hits]
    if unhit:
        raise AssertionError(f"{counted(len(unhit), 'fault')} {were(len(unhit))} never hit: {'; '.join(unhit)}")


def require_group_id(group_id: str) -> str:
    """Raises TestingError: it is no text."""
    if not isinstance(group_id, str):
        raise TestingError(f"the id of a group is text, not {group_id!r}")
    return group_id


def require_silent_names(silent: Collection[str]) -> tuple[str, ...]:
    """Raises TestingError: `silent` is one text, whose letters would be taken for names."""
    if isinstance(silent, str):
        raise TestingError(f"silent={silent!r} is one name: give a list of them, such as [{silent!r}]")
    return tuple(silent)
