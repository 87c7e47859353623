"""`coordinator groups why`: why a group rebalanced, on one screen."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

import click
import msgspec

from coordinator.cli.observed import evidence_lines, evidence_of, present_lines
from coordinator.cli.source import ReadHistory, Source, source_options
from coordinator.cli.terminal import (
    UTC_OPTION,
    Clock,
    clock,
    json_option,
    one_line_errors,
    paragraph,
    print_json,
    table,
    width,
)
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_description import NoSuchGroup, describe_group
from coordinator.client.hidden_offsets import hidden_topics, why_hidden
from coordinator.client.recent_server_events import Lately, recent_server_events
from coordinator.client.wire import ClientError
from coordinator.dashboard.links import page_url
from coordinator.explain import workers
from coordinator.explain.claims.notes import NotSeen
from coordinator.explain.findings import Finding, findings
from coordinator.explain.generation import Generation, MemberPart
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings.progress import go_on
from coordinator.explain.notes import notes
from coordinator.explain.positions import position_findings
from coordinator.explain.protocols.table import protocol_of
from coordinator.explain.story import Story, story_of, why
from coordinator.explain.words import Names, counted, duration, plain
from coordinator.observe.history import ObservedHistory
from coordinator.printable import printable

UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
GENERATIONS_SHOWN: Final = 12
MEMBERS_SHOWN: Final = 10
UNSEEN_SHOWN: Final = 3
CAUSES_SHOWN: Final = 3
STORY_LINES_SHOWN: Final = 12
"""Lines of a story, without its advice, that are printed unless all are asked for."""


class Span(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """A length of time such as 90s, 15m, 1h or 2d, in ms."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        found = re.fullmatch(r"(\d{1,9})([smhd])", str(value))
        if found is None:
            self.fail(f"{value!r} is not a time such as 90s, 15m, 1h or 2d", param, context)
        return int(found[1]) * UNITS_MS[found[2]]


@click.command("why")
@click.argument("group_id", metavar="GROUP")
@click.option("--generation", "generation_id", type=int, metavar="N", help="Explain this generation, not the last one.")
@click.option("--last", "last_ms", type=Span(), metavar="TIME", help="Sum up this time: 90s, 15m, 1h, 2d.")
@click.option(
    "--full",
    "in_full",
    is_flag=True,
    help=f"Print all of a story that has more than {STORY_LINES_SHOWN} lines.",
)
@source_options
@click.option(
    "--dashboard",
    metavar="URL",
    envvar="COORDINATOR_DASHBOARD",
    show_envvar=True,
    help="The address of a `coordinator dashboard` of the same server: print the group's link there.",
)
@UTC_OPTION
@json_option
def command(
    group_id: str,
    generation_id: int | None,
    last_ms: int | None,
    in_full: bool,
    source: Source,
    dashboard: str | None,
    utc: bool,
    as_json: bool,
) -> None:
    """Say why a group rebalanced, who held it up, what it cost, and what to try.

    Of a Kafka that has no audit topic, the records of __consumer_offsets and the logs of its brokers tell it
    (--broker-log); the logs alone do without --bootstrap. How it is known is said, and what is not known is not.

    With --tables and with logs alone, --last counts back from the group's last event.
    """
    with one_line_errors():
        history_of_group = source.read(group_id)
        history, now_ms = history_of_group.history, history_of_group.until_ms
        at = clock(utc)
        generation = _chosen(history, generation_id)
        recent = _recent(history, now_ms, last_ms)
        story = None if generation is None or last_ms is not None else story_of(history, generation, at)
        found, hidden = findings(history, now_ms, at), list[str]()
        if source.tables is None and source.bootstrap is not None and not history_of_group.is_watched:
            of_offsets, hidden = _of_offsets(source.bootstrap, history, now_ms, at)
            found += of_offsets
        page = _page(dashboard, group_id, None if story is None else story.generation_id)
        if as_json:
            document = _document(history, recent, story, found) | {"not_looked_at": hidden + history_of_group.notes}
            if history_of_group.present is not None:
                document["present"] = msgspec.to_builtins(history_of_group.present, enc_hook=asdict)
            print_json(document | ({} if page is None else {"page": page}))
            return
        sentences = None if story is None else list(story_lines(story) if in_full else story_in_short(story))
        for line in head_notes(history_of_group):
            click.echo(line)
        if history_of_group.present is not None and history.last_seq < 0:
            screen = present_lines(history_of_group.present)
        else:
            screen = _screen(history, generation, sentences, recent if last_ms is not None else None, found, at)
        for line in screen:
            click.echo(line)
        if history_of_group.unknown:
            click.echo(f"\n{paragraph(history_of_group.unknown)}")
        for topic in hidden:
            click.echo(f"\n{paragraph(f'{topic}.')}")
        if page is not None:
            click.echo(f"\nlive page: {page}")


def _of_offsets(bootstrap: Bootstrap, history: GroupHistory, now_ms: int, at: Clock) -> tuple[list[Finding], list[str]]:
    """What is wrong with the offsets of the group now, nothing if it is gone; and what was not looked at, and why."""
    try:
        described = describe_group(bootstrap, history.group_id)
    except NoSuchGroup:
        return [], []
    except ClientError as problem:
        return [], [why_hidden(problem, history.group_id)]
    lately = recent_server_events(bootstrap) if described.members else Lately()
    denials = go_on(lately.denials, now_ms)
    found = position_findings(described, now_ms, at, history, denials, lately.heard_since_ms)
    return found, list(hidden_topics(described.hidden_topics))


def _page(base: str | None, group_id: str, generation_id: int | None) -> str | None:
    """The link to the group on the live page, if its address is known."""
    if not base:
        return None
    try:
        return page_url(base, group_id, generation_id)
    except ValueError as problem:
        raise click.ClickException(f"--dashboard: {problem}") from problem


def _chosen(history: GroupHistory, generation_id: int | None) -> Generation | None:
    if generation_id is None:
        return history.latest
    found = history.generation(generation_id)
    if found is None:
        generation_ids = [generation.generation_id for generation in history.generations]
        which = f"; it has {min(generation_ids)} to {max(generation_ids)}" if generation_ids else ""
        raise click.ClickException(
            f"group {plain(history.group_id)} has no {number_word(history)} {generation_id}{which}"
        )
    return found


def _recent(history: GroupHistory, now_ms: int, last_ms: int | None) -> list[Generation]:
    since_ms = 0 if last_ms is None else now_ms - last_ms
    return [
        generation
        for generation in history.generations
        if (generation.ended_ms or generation.started_ms or now_ms) >= since_ms
    ]


def _document(
    history: GroupHistory, recent: list[Generation], story: Story | None, found: list[Finding]
) -> dict[str, Any]:
    return {
        "group_id": history.group_id,
        "state": history.state,
        "group_type": history.group_type,
        "generation_id": history.generation_id,
        "members": len(history.members),
        "story": None if story is None else msgspec.to_builtins(story),
        "rebalances": [generation_json(history, generation) for generation in recent],
        "findings": msgspec.to_builtins(found),
        "missing_events": msgspec.to_builtins(list(history.gaps)),
    }


def number_word(history: GroupHistory) -> str:
    """What the number of a generation is called now."""
    return protocol_of(history.group_type).generation_name


def summary(history: GroupHistory, generation: Generation) -> dict[str, Any]:
    """A generation as a row."""
    return {
        "generation_id": generation.generation_id,
        "group_type": generation.group_type,
        "created_seq": generation.created_seq,
        "outcome": generation.outcome,
        "cause": generation.cause,
        "why": why(history, generation),
        "started_ms": generation.rebalance_started_ms,
        "ended_ms": generation.ended_ms,
        "rebalance_ms": generation.rebalance_ms,
        "members": generation.member_count,
        "partitions": generation.partitions,
        "partitions_moved": generation.partitions_moved,
        "partitions_moved_needlessly": generation.moved_needlessly,
    }


def generation_json(history: GroupHistory, generation: Generation) -> dict[str, Any]:
    """A generation as a row; of a group of another Kafka with where each statement was seen."""
    row = summary(history, generation)
    return row | evidence_of(history, generation) if isinstance(history, ObservedHistory) else row


def head_notes(loaded: ReadHistory) -> Iterator[str]:
    """What could not be read of another Kafka, before what was."""
    for note in loaded.notes:
        yield paragraph(f"! {printable(note)}", "  ", "")
    if loaded.notes:
        yield ""


def _screen(
    history: GroupHistory,
    generation: Generation | None,
    sentences: list[str] | None,
    recent: list[Generation] | None,
    found: list[Finding],
    at: Clock,
) -> Iterator[str]:
    yield paragraph(f"group {plain(history.group_id)}: {_state(history)}")
    if history.gaps:
        missing = sum(gap.last_seq - gap.first_seq + 1 for gap in history.gaps)
        yield paragraph(f"{counted(missing, 'event')} are missing, so some of this may be incomplete")
    unseen = [found for found in notes(history) if isinstance(found.claim, NotSeen)]
    for found_note in unseen[-UNSEEN_SHOWN:]:
        yield paragraph(f"not seen, {at(found_note.time_ms)}: {found_note.text}")
    yield ""
    if recent is not None:
        yield from _summed_up(history, recent, at)
    elif sentences is None or generation is None:
        since = "since its first event" if history.last_seq >= 0 else "at the nodes"
        yield f"it has not rebalanced {since}"
    else:
        yield from sentences
        if isinstance(history, ObservedHistory):
            yield from evidence_lines(history, generation, at)
        if len(generation.members) > 1 and any(part.is_assigned for part in generation.members.values()):
            yield ""
            yield from members_table(generation)
    for finding in found:
        yield ""
        yield paragraph(f"! {finding.headline}", "  ", "")
        for line in finding.evidence:
            yield paragraph(line, "    ", "  - ")
        yield paragraph(f"try: {finding.advice}", "       ", "  ")


def _state(history: GroupHistory) -> str:
    """How the group is now, at the nodes of a cluster also if it has never been there."""
    if history.last_seq < 0:
        held = history.held_by_cluster
        return f"no members at the nodes, {'none' if held is None else held.member_count} at the cluster"
    members = counted(len(history.members), "member")
    earlier = "; its earlier events are no longer there" if history.begins_in_the_middle else ""
    return f"{history.state}, {number_word(history)} {history.generation_id}, {members}{earlier}"


def story_lines(story: Story) -> Iterator[str]:
    """A story in lines of the terminal's width: what happened, then what to try."""
    yield from _happened(story)
    yield from _tries(story)


def story_in_short(story: Story) -> Iterator[str]:
    """As `story_lines`, but if what happened takes more than `STORY_LINES_SHOWN` lines, with a pointer to the last."""
    happened = list(_happened(story))
    if len(happened) > STORY_LINES_SHOWN:
        shown = STORY_LINES_SHOWN - 1
        yield from happened[:shown]
        yield f"… {counted(len(happened) - shown, 'more line')} with --full"
    else:
        yield from happened
    yield from _tries(story)


def _happened(story: Story) -> Iterator[str]:
    for text in (f"{story.headline}.", *story.paragraphs):
        yield from paragraph(text).split("\n")


def _tries(story: Story) -> Iterator[str]:
    for advice in story.advice:
        yield from paragraph(f"try: {advice}", "     ", "").split("\n")


def members_table(generation: Generation) -> Iterator[str]:
    """Who came when, and what each owns: the slowest first. A group epoch has no joins: members reconcile."""
    names = Names(part.member for part in generation.members.values())
    parts = sorted(
        generation.members.values(),
        key=lambda part: (-(part.join_ms or 0), -(part.sync_ms or 0), names.of(part.member)),
    )
    waits = generation.protocol.waits
    has_waits = any(part.sync_ms is not None for part in parts)
    rows = [["member", "host", *(wait.title for wait in waits if has_waits), "owns", "gained", "lost"]]
    for part in parts[:MEMBERS_SHOWN]:
        waited = [wait.ms_of(part) for wait in waits if has_waits]
        times = ["?" if wait_ms is None else duration(wait_ms) for wait_ms in waited]
        counts = list(_counts(part)) if part.is_assigned else ["?"] * 3
        rows.append([names.of(part.member), part.member.client_host.removeprefix("/"), *times, *counts])
    lines = list(table(rows, frozenset(range(2, len(rows[0])))))
    if max(map(len, lines)) > width():
        lines = list(table([[row[0], *row[2:]] for row in rows], frozenset(range(1, len(rows[0]) - 1))))  # no host
    yield from lines
    if len(parts) > MEMBERS_SHOWN:
        yield f"and {counted(len(parts) - MEMBERS_SHOWN, 'member')} that came earlier"


def _counts(part: MemberPart) -> tuple[str, str, str]:
    """What it owns, gained and lost: partitions, or connectors and tasks."""
    if part.worker is not None:
        owns = len(workers.tasks_of(part.worker)) + part.worker.unnamed_tasks
        return f"{owns}", f"+{len(workers.gained(part))}", f"-{len(workers.lost(part))}"
    owns = _count(part.partitions) + part.unnamed_partitions
    return f"{owns}", f"+{_count(part.gained)}", f"-{_count(part.lost)}"


def _count(partitions: dict[str, list[int]]) -> int:
    return sum(map(len, partitions.values()))


def _summed_up(history: GroupHistory, recent: list[Generation], at: Clock) -> Iterator[str]:
    if not recent:
        yield "no rebalance in that time"
        return
    causes = Counter(
        generation.cause.value.replace("_", " ") if generation.cause else "unknown" for generation in recent
    )
    reported_causes = ", ".join(f"{count} × {name}" for name, count in causes.most_common(CAUSES_SHOWN))
    spent = sum(generation.rebalance_ms or 0 for generation in recent)
    yield paragraph(f"{counted(len(recent), 'rebalance')} ({reported_causes}), {duration(spent)} in rebalances")
    yield ""
    yield from generations_lines(history, recent[-GENERATIONS_SHOWN:], at)
    if len(recent) > GENERATIONS_SHOWN:
        yield f"and {len(recent) - GENERATIONS_SHOWN} earlier ones: coordinator groups history"


def generations_lines(history: GroupHistory, generations: list[Generation], at: Clock) -> Iterator[str]:
    """Two lines per generation: its figures, and why it began."""
    for generation in generations:
        began = "?" if generation.started_ms is None else at(generation.started_ms)
        took = "" if generation.rebalance_ms is None else f", {duration(generation.rebalance_ms)}"
        moved = ""
        if generation.partitions is not None and generation.partitions_moved is not None:
            moved = f", {generation.partitions_moved:,} of {counted(generation.partitions, 'partition')} moved"
        members = "" if generation.member_count is None else f", {counted(generation.member_count, 'member')}"
        outcome = generation.outcome.value.replace("_", " ")
        number = f"{generation.generation_id:>5}  "
        yield paragraph(f"{began}  {outcome}{took}{members}{moved}", " " * 7, number)
        yield paragraph(f"because {why(history, generation)}", " " * 7)
