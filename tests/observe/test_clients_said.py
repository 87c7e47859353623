"""Logs of clients say why a member left where brokers do not; logs of other zones and clocks are aligned."""

from datetime import UTC, timedelta, timezone
from pathlib import Path

from coordinator.core.causes import Cause
from coordinator.explain.claims.causes import Left, Way
from coordinator.explain.makers.generation import claims_of
from coordinator.observe.sources import LogOptions, observe_group
from tests.observe.recordings import Recording, recordings

GROUP = "g-max_poll_kp"
MEMBER = "billing-2-cee7f999-6a78-4fa5-8f01-7a1c7dd9bde1"


def recording(name: str) -> Recording:
    (found,) = [recording for recording in recordings() if recording.name == name]
    return found


def client_log(hour: int = 8) -> str:
    """What kafka-python writes; the broker's log is in UTC, where it is 8 o'clock."""
    return (
        f"2026-11-28 {hour:02}:10:46,365 INFO kafka.coordinator Successfully joined group {GROUP} <Generation 2"
        f" (member_id: {MEMBER}, protocol: range)>\n"
        f"2026-11-28 {hour:02}:10:55,010 WARNING kafka.coordinator.heartbeat Consumer poll timeout has expired. This"
        " means the time between subsequent calls to poll() was longer than the configured max_poll_interval_ms\n"
        f"2026-11-28 {hour:02}:10:55,020 INFO kafka.coordinator Leaving consumer group {GROUP} (member {MEMBER}).\n"
    )


def third_generation(tmp_path: Path, client: str | None, **options: object) -> tuple[Left, str]:
    broker = tmp_path / "server.log"
    broker.write_bytes(recording("max_poll_kp/3.9.1-classic").log)
    paths = []
    if client is not None:
        path = tmp_path / "client.log"
        path.write_text(client)
        paths = [str(path)]
    logs = LogOptions((str(broker),), tuple(paths), "auto", UTC)
    seen = observe_group(GROUP, None, logs)
    generation = seen.history.generation(3)
    assert generation is not None and generation.cause is Cause.MEMBER_LEFT
    (cause,) = claims_of(seen.history, generation).cause
    assert isinstance(cause, Left)
    return cause, " ".join(str(place.name) for place in seen.history.places_of(cause))


def test_without_the_log_of_the_client_it_is_not_known_whether_it_polled(tmp_path: Path):
    cause, places = third_generation(tmp_path, None)
    assert cause.way is Way.NOT_SAID
    assert "client.log" not in places


def test_the_client_says_that_its_application_did_not_poll(tmp_path: Path):
    cause, places = third_generation(tmp_path, client_log())
    assert cause.way is Way.POLL_TIMEOUT
    assert "client.log" in places and "server.log" in places


def test_the_clock_of_the_client_may_differ(tmp_path: Path):
    """The generation that both tell of shows by how much."""
    cause, _ = third_generation(tmp_path, client_log(hour=11))
    assert cause.way is Way.POLL_TIMEOUT


def test_a_client_that_says_nothing_of_it_explains_nothing(tmp_path: Path):
    cause, _ = third_generation(tmp_path, client_log().splitlines(keepends=True)[0])
    assert cause.way is Way.NOT_SAID


def test_an_ordered_end_is_a_close(tmp_path: Path):
    joined, _, left = client_log().splitlines(keepends=True)
    cause, _ = third_generation(tmp_path, joined + left)
    assert cause.way is Way.CLOSED


def test_the_zone_of_a_broker_follows_from_its_records():
    from coordinator.observe.alignment import aligned
    from tests.observe.observing import records_of, statements_of

    found = recording("kill9/3.9.1-classic")
    records, statements = records_of(found, "g-kill9"), statements_of(found, "g-kill9")
    assert set(aligned(records, statements).shifts_ms.values()) == {0}
    east = timezone(timedelta(hours=5, minutes=45))
    shifted = statements_of(found, "g-kill9", east)
    found_shifts = aligned(records, shifted)
    assert set(found_shifts.shifts_ms.values()) == {5 * 3_600_000 + 45 * 60_000}
    assert [statement.place.time_ms for statement in found_shifts.statements] == [
        statement.place.time_ms for statement in statements
    ]
