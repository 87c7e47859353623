"""Every query of the dashboard and of the alert rules asks for metrics and labels that a real server has."""

import json
import re
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
import yaml
from promql_parser import AggregateExpr, MatchOp, MatrixSelector, VectorSelector

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
from tests.admin.http_client import Scrape

FOLDER: Final = Path(__file__).parents[2] / "docs" / "grafana"
DASHBOARD: Final = json.loads((FOLDER / "group-coordinator.json").read_text(encoding="utf-8"))
ALERTS: Final = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
ADDED_BY_PROMETHEUS: Final = {"job", "instance"}
VALUES: Final = {"error": {error_code.name for error_code in ErrorCode}, "cause": {cause.value for cause in Cause}}
"""Values of labels that need not have come up yet."""

VARIABLES: Final = {"$__rate_interval": "5m"}
LABEL_VALUES: Final = re.compile(r"label_values\((\w+)(\{.*\})?, (\w+)\)")


def panels() -> list[Any]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def dashboard_queries() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def rules() -> list[Any]:
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def parsed(query: str) -> promql_parser.Expr:
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    return promql_parser.parse(query)


def problems(query: str, scrape: Scrape) -> list[str]:
    """What a query asks for and the server does not have."""
    found: list[str] = []
    known: set[str] = set(ADDED_BY_PROMETHEUS)
    grouped: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, MatrixSelector):
            node = node.vector_selector
        if isinstance(node, VectorSelector):
            labels = [sample.labels for sample in scrape.samples if sample.name == node.name]
            if not labels:
                found.append(f"no metric {node.name}")
                return
            known.update(*labels)
            for matcher in node.matchers.matchers:
                found.extend(_matcher_problems(matcher, node.name, labels))
        elif isinstance(node, AggregateExpr) and node.modifier is not None:
            grouped.extend(node.modifier.labels)

    promql_parser.walk(parsed(query), pre_visit=visit)
    return found + [f"no label {label}" for label in grouped if label not in known]


def _matcher_problems(matcher: Any, metric: str | None, labels: list[dict[str, str]]) -> list[str]:
    if matcher.name in ADDED_BY_PROMETHEUS:
        return []
    values = {label[matcher.name] for label in labels if matcher.name in label} | VALUES.get(matcher.name, set())
    if not any(matcher.name in label for label in labels):
        return [f"{metric} has no label {matcher.name}"]
    is_text = matcher.op in (MatchOp.Equal, MatchOp.NotEqual)
    return [f"{metric} has no {matcher.name} {matcher.value}"] if is_text and matcher.value not in values else []


@pytest.fixture(scope="module")
def scrape(server):
    return Scrape(server.admin)


@pytest.mark.parametrize("query", dashboard_queries())
def test_a_query_of_the_dashboard_asks_for_what_there_is(scrape, query):
    assert problems(query, scrape) == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_there_is_and_says_what_to_do(scrape, rule):
    assert problems(rule["expr"], scrape) == []
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"].keys() == {"summary", "runbook"}
    assert len(rule["annotations"]["runbook"]) > 80


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_runbook_names_only_metrics_that_there_are(scrape, rule):
    names = {sample.name for sample in scrape.samples} | {
        re.sub(r"_(bucket|sum|count)$", "", s.name) for s in scrape.samples
    }
    said = set(re.findall(r"\b(?:kafka|coordinator|process)_\w+", rule["annotations"]["runbook"]))
    assert said <= names


@pytest.mark.parametrize(
    "query",
    [
        "no_such_metric",
        'coordinator_epoch{state="x"}',
        "sum by (cause) (coordinator_epoch)",
        'coordinator_group_state{state="Full"}',
    ],
)
def test_a_query_for_what_there_is_not_is_found(scrape, query):
    assert problems(query, scrape) != []


def test_the_variables_of_the_dashboard_are_labels_of_metrics(scrape):
    names = set()
    for variable in DASHBOARD["templating"]["list"]:
        names.add(variable["name"])
        if variable["type"] == "query":
            match = LABEL_VALUES.fullmatch(variable["query"]["query"])
            assert match is not None, variable
            metric, selector, label = match.groups()
            assert problems(metric + (selector or ""), scrape) == []
            assert label in ADDED_BY_PROMETHEUS or scrape.labels(metric, label)
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"]))) - {"__rate_interval"}
    assert used == names


def test_the_panels_have_ids_of_their_own_and_do_not_overlap():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
