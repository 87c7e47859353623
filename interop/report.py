"""What came of the matrix: docs/interop.md, JUnit's XML, and the problems."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from interop.builds import ALL, ROOT
from interop.matrix import Matrix, is_kafkas_too, title, told_on_kafka
from interop.play import Result
from interop.scenarios import REFUSALS, SCENARIOS
from interop.targets import KAFKA, OURS
from tests.differential.kafka import VERSION

PAGE: Final = ROOT / "docs" / "interop.md"
HEAD: Final = f"""# Clients and scenarios

What stock clients do in groups of this server, and what the same clients do on Apache Kafka {VERSION}. `make interop`
plays [the scenarios](../interop/scenarios) and makes this page. A scenario passes if, by the clients' own reports, no
partition has two owners at a time, no record is lost, and there are no more rebalances than needed; on this server the
audit topic has to name the causes, too. A member that is refused has to be told on this server what Kafka tells it.
In share groups (KIP-932) it passes if each record is delivered to whom it has to be, as often as it has to be, and all
are done in the end.

✓: passes on both. A number: it fails, as the note below says, on both servers, which makes it the client's own, or on
one. –: the client cannot do it, or does not have this assignor. *: needs a server with faults
([testing.md](testing.md)), which Kafka does not have; it is played on this server alone.

"""


def write_page(matrix: Matrix, path: Path = PAGE) -> None:
    path.write_text(page(matrix), encoding="utf-8")


def page(matrix: Matrix) -> str:
    """The page of all results."""
    clients = [matrix.clients[name] for name in ALL if name in matrix.clients]
    notes: list[str] = []
    lines = [f"| scenario | {' | '.join(client.name for client in clients)} |", "|---" * (len(clients) + 1) + "|"]
    for name, scenario in SCENARIOS.items():
        cells = [_cell(matrix, client.name, name, notes) for client in clients]
        lines.append(f"| {scenario.title}{' *' if scenario.faults else ''} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1)), ""]
    lines += _refusals(matrix)
    lines += ["| client | version |", "|---|---|"]
    lines += [f"| {client.name} | {client.version} |" for client in clients]
    lines += ["", *(f"Left out: {name}: {why}." for name, why in matrix.skipped.items())]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def _refusals(matrix: Matrix) -> list[str]:
    """What each client tells its application when it is refused, the shortest of what it says."""
    lines = ["What clients tell when they are refused, in errors of their calls or in their logs (N: with digits):", ""]
    for name in REFUSALS:
        by_text: dict[str, list[str]] = {}
        for client, results in matrix.results.get(OURS, {}).items():
            if name in results and results[name].outcome == "passed":
                by_text.setdefault(min(results[name].told, key=len, default="nothing"), []).append(client)
        told = [f"  - {_plain(text)}: {', '.join(clients)}" for text, clients in sorted(by_text.items())]
        lines += [f"- {SCENARIOS[name].title.removeprefix('Refused: ')}", *told] if told else []
    return [*lines, ""] if len(lines) > 2 else []


def _cell(matrix: Matrix, client: str, scenario: str, notes: list[str]) -> str:
    ours = matrix.results.get(OURS, {}).get(client, {}).get(scenario)
    kafkas = matrix.results.get(KAFKA, {}).get(client, {}).get(scenario)
    if ours is None and kafkas is None:
        return "–"
    note = _note(ours, kafkas, SCENARIOS[scenario].faults)
    if not note and ours is not None:
        note = _own_problem(matrix, client, scenario, ours)
    if not note:
        return "✓"
    notes.append(f"{client}, {SCENARIOS[scenario].title}: {note}")
    return str(len(notes))


def _note(ours: Result | None, kafkas: Result | None, is_for_ours: bool) -> str:
    """What has to be said of a cell; nothing if it passes wherever it can be played."""
    bad, bad_on_kafka = _problem(ours), _problem(kafkas)
    if bad and bad_on_kafka:
        return f"the client's own, on both servers: {bad}" + (
            f" (Kafka: {bad_on_kafka})" if bad != bad_on_kafka else ""
        )
    if bad:
        return f"on this server{' alone' if kafkas else ''}: {bad}"
    if bad_on_kafka:
        return f"passes on this server; on Apache Kafka: {bad_on_kafka}"
    if is_for_ours:
        return ""
    missing = [title(name) for name, result in ((OURS, ours), (KAFKA, kafkas)) if result is None]
    return f"passes; not played on {missing[0]}" if missing else ""


def _problem(result: Result | None) -> str:
    if result is None or result.outcome == "passed":
        return ""
    text = _plain(result.message)
    return text if len(text) <= 300 else text[:300] + "…"


def _plain(text: str) -> str:
    """Without what Markdown takes for tables or tags."""
    return text.replace("|", "/").replace("<", "‹").replace(">", "›")


def problems(matrix: Matrix) -> list[str]:
    """What fails on this server, or by nodes, and not on Apache Kafka; and what refused members are told otherwise."""
    return [
        f"FAILED{'' if target_name == OURS else f' by {target_name}'}: {client}, {SCENARIOS[name].title}: {problem}"
        for target_name, clients in matrix.results.items()
        for client, results in clients.items()
        for name, result in results.items()
        if target_name != KAFKA and (problem := _own_problem(matrix, client, name, result))
    ]


def _own_problem(matrix: Matrix, client: str, scenario: str, result: Result) -> str:
    if result.outcome != "passed":
        return "" if is_kafkas_too(matrix, client, scenario) else result.message
    kafkas = told_on_kafka(matrix, client, scenario)
    if kafkas is None or _is_the_same(result.told, kafkas):
        return ""
    return f"the member is told {_told(result.told)}; by Kafka it is told {_told(kafkas)}"


def _is_the_same(told: Sequence[str], on_kafka: Sequence[str]) -> bool:
    """Whether a member was told the same reason. How often it tried again, and so what else it says, is chance."""
    return (not told and not on_kafka) or not {*told, *map(_as_java_tells, told)}.isdisjoint(on_kafka)


def _as_java_tells(text: str) -> str:
    """As an application hears of an expired certificate from Java 17, whose alert names no reason (RFC 8446, 6.2)."""
    return text.replace("certificate expired", "certificate unknown").replace(
        "expired certificate", "unknown certificate"
    )


def _told(texts: Sequence[str]) -> str:
    return "; ".join(texts) or "nothing"


def junit(matrix: Matrix) -> str:
    """The results as JUnit's XML: a suite per target; what fails on Kafka too is no failure of this server."""
    suites = ElementTree.Element("testsuites")
    for target_name, clients in matrix.results.items():
        cases = [(client, name, result) for client, results in clients.items() for name, result in results.items()]
        suite = ElementTree.SubElement(
            suites, "testsuite", name=f"interop on {title(target_name)}", tests=str(len(cases))
        )
        failures = 0
        for client, name, result in cases:
            element = ElementTree.SubElement(
                suite, "testcase", classname=f"interop.{client}", name=name, time=f"{result.seconds:.2f}"
            )
            if result.outcome == "passed":
                continue
            if target_name != KAFKA and is_kafkas_too(matrix, client, name):
                ElementTree.SubElement(element, "skipped", message=_xml(f"on Kafka too: {result.message}"))
            else:
                failures += 1
                ElementTree.SubElement(element, "failure", message=_xml(result.message), type=result.outcome)
        suite.set("failures", str(failures))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """XML has no control characters."""
    return "".join(each if each.isprintable() else "?" for each in text)
