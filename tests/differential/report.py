"""What a run covered, in numbers."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from _wire.errors import ErrorCode
from tests.differential.steps import Close, History, Pause, Rest, Send


class Coverage:
    """Counts over histories."""

    def __init__(self, histories: Iterable[History]) -> None:
        self.histories = list(histories)
        self.sent = Counter[tuple[str, int]]()
        self.answered = Counter[tuple[str, int]]()
        self.errors = Counter[tuple[str, str]]()
        self.states = Counter[str]()
        self.others = Counter[str]()
        for history in self.histories:
            self._count(history)

    def _count(self, history: History) -> None:
        sent = {step.label: step for step in history.steps if isinstance(step, Send)}
        self.sent.update((step.api, step.version) for step in sent.values())
        self.others.update(
            type(step).__name__.lower() for step in history.steps if isinstance(step, Close | Pause | Rest)
        )
        for outcome in history.outcomes:
            self.states.update(group["group_state"] for group in outcome.groups)
            for label, answer in outcome.answers.items():
                step = sent[label]
                self.answered[step.api, step.version] += 1
                self.errors.update((step.api, ErrorCode(code).name) for code in _errors_in(answer))

    def lines(self) -> Iterator[str]:
        """The report, one line each."""
        ended = Counter(history.ended or "whole" for history in self.histories)
        differing = sum(bool(history.difference) for history in self.histories)
        steps = sum(len(history.steps) for history in self.histories)
        yield f"{len(self.histories)} histories, {steps} steps ({_counted(self.others)})"
        yield f"{self.sent.total()} requests, {self.answered.total()} answers compared, {differing} histories differ"
        for reason, number in ended.most_common():
            yield f"  {number:6} {reason}"
        yield "answers by API and version"
        for api in sorted({api for api, _ in self.answered}):
            versions = {version: number for (name, version), number in sorted(self.answered.items()) if name == api}
            errors = Counter({error: number for (name, error), number in self.errors.items() if name == api})
            yield f"  {api:15} {' '.join(f'v{version}:{number}' for version, number in versions.items())}"
            yield f"  {'':15} {_counted(errors)}"
        yield f"states seen: {_counted(self.states)}"


def _errors_in(answer: Any) -> Iterator[int]:
    if isinstance(answer, list):
        for element in answer:
            yield from _errors_in(element)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if name == "error_code":
                yield value
            else:
                yield from _errors_in(value)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counter.most_common())
