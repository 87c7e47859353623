"""Plays one script, in a process of its own: `python -m tests.world.real.play SEED KINDS`.

Its report is one line of JSON. `tests.world.real.__main__` starts it, with the tolerances of real clients.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings import found_in
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.makers.notes import note_claims
from tests.world.checkers.context import Context, context_of, context_of_group
from tests.world.history import ConsumerSetup, History, Setup
from tests.world.real.checks import check, is_checked, reports_agree
from tests.world.real.playing import Player
from tests.world.real.script import HEARTBEAT_MS, MAX_POLL_MS, SESSION_MS, Script, script_of
from tests.world.real.witness import truth_of
from tests.world.shrinking import kind_of
from tests.world.spans import FOREVER, Span
from tests.world.telling import FalseClaim
from tests.world.truth import ProcessTruth


def history_of(script: Script) -> History:
    """As much of a history of the world as checkers ask for."""
    consumers = tuple(
        ConsumerSetup(
            "modern" if consumer.client.endswith("-consumer") else "java",
            consumer.assignors,
            instance_id=consumer.instance_id,
            session_timeout_ms=SESSION_MS,
            heartbeat_ms=HEARTBEAT_MS,
            max_poll_interval_ms=MAX_POLL_MS,
            starts=consumer.starts,
        )
        for consumer in script.consumers
    )
    return History(Setup(consumers, consumer_session_ms=SESSION_MS, consumer_heartbeat_ms=HEARTBEAT_MS))


def contexts_of(history: History, begin_ms: int, folded: GroupHistory, at_ms: int) -> list[Context]:
    """All that is claimed at a time, generation by generation, and then about the group."""
    found = [
        context_of(
            history,
            begin_ms,
            at_ms,
            generation,
            folded.before(generation),
            tuple(claims_of(folded, generation).all()),
        )
        for generation in folded.generations
    ]
    group = (*found_in(folded, at_ms), *note_claims(folded))
    return [*found, context_of_group(history, begin_ms, at_ms)._replace(told=group)]


def played(script: Script, folder: Path) -> dict[str, object]:
    history, contexts = history_of(script), list[Context]()
    with ExitStack() as stack:
        player = Player(script, folder, stack)
        player.play(lambda folded, at_ms: contexts.extend(contexts_of(history, player.begin_ms, folded, at_ms)))
        truth = truth_of(player, player.scene.events())
    told, checked, false = Counter[str](), Counter[str](), list[dict[str, object]]()
    for context in contexts:
        for claim in context.told:
            name = type(claim).__name__
            told[name] += 1
            checked[name] += is_checked(claim)
            contradiction = check(claim, truth, context)
            if contradiction is not None:
                kind = " ".join(kind_of(FalseClaim(context, contradiction))).strip()
                about = {"generation": context.generation_id, "reported_ms": context.reported_ms - player.begin_ms}
                false.append({"kind": kind, "why": contradiction.why, "claim": str(claim), **about})
    return {
        "seed": script.seed,
        "clients": [consumer.client for consumer in script.consumers],
        "steps": [list(step) for step in script.steps],
        "generations": len(contexts) and max(context.generation_id for context in contexts),
        "told": told,
        "checked": checked,
        "false": false,
        "strange": list(reports_agree(truth)),
        "begin_ms": player.begin_ms,
        "processes": [_said(process.truth, player.begin_ms) for process in player.processes],
        "away": [[each.kind, each.from_ms - player.begin_ms, each.until_ms - player.begin_ms] for each in truth.away],
    }


def _said(truth: ProcessTruth, begin_ms: int) -> str:
    """A process in one line."""

    def since_begin(span: Span) -> Span:
        return span[0] - begin_ms, span[1] - begin_ms if span[1] < FOREVER else -1

    hindered = {"stopped": truth.suspended, "kept from poll()": truth.blocked, "closed": truth.out}
    spans = {name: [since_begin(each) for each in found.all] for name, found in hindered.items() if found.all}
    end = truth.ended or "lives"
    return f"{truth.client_id} {truth.kind.software} {truth.instance_id} {since_begin(truth.lived)} {end} {spans}"


def main() -> None:
    seed, kinds = int(sys.argv[1]), tuple(sys.argv[2].split(","))
    with tempfile.TemporaryDirectory() as folder:
        report = played(script_of(seed, kinds), Path(folder))
    print(json.dumps(report), flush=True)
    os._exit(0)  # threads of clients may be at work


if __name__ == "__main__":
    main()
