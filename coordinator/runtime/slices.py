"""Long work in slices: what one request asks for does not delay the requests of others.

A handler that may have much to do is a generator: it yields wherever other work may have its turn, and returns its
response. What it finds after a yield may have changed since. A generator that reads much before it ends yields how
many bytes it will hold after its next step; the others yield nothing.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")
K = TypeVar("K")

seconds: Callable[[], float] = perf_counter
"""The clock of the slices. A test replaces it to count work instead of time."""

Steps = Generator[Any, None, T]
"""Steps of work with the result T. They yield an int, the bytes that the work holds after the next step, or None: as
before; or an `Awaited`, without whose answer there is no next step. (Any: mypy demands a value of each `yield` of any
other type than None.)"""

TURN_SECONDS: Final = 0.005
"""How long new work, and work that goes on, may each take in one iteration of the event loop. A step may be longer."""
SLICE_SECONDS: Final = 0.001
"""How long work goes on before other work of its kind has its turn."""
HELD_BYTES_MAX: Final = 64 << 20
"""What work under way may hold together: four responses to a Fetch of fetch.max.bytes. Above it, of the requests of an
address that hold much, only the oldest goes on."""
MUCH_BYTES: Final = 1 << 20
"""Work that holds no more is not counted: a Fetch of one partition with the default limits of Kafka's clients."""
UNBOUNDED_BYTES: Final = 1 << 62
MERGED_AT_ONCE: Final = 500
"""Elements of a request that are looked at in one step of `merge` or `one_by_one`: about as many as a client sends."""


class Awaited(Generic[T]):
    """An answer that steps wait for. `answer` is called once, at once or later."""

    __slots__ = ("_resume", "_value", "is_answered", "is_urgent")

    def __init__(self, is_urgent: bool) -> None:
        self.is_answered = False
        self.is_urgent = is_urgent
        """Whether the next step is taken with the answer, before anything else can happen."""
        self._value: T
        self._resume: Callable[[Awaited[T]], None] | None = None

    def answer(self, value: T) -> None:
        self._value, self.is_answered = value, True
        if self._resume is not None:
            self._resume(self)

    def when_answered(self, resume: "Callable[[Awaited[T]], None]") -> None:
        self._resume = resume

    def steps(self) -> Steps[T]:
        if not self.is_answered:
            yield self
        return self._value


def awaited(ask: Callable[[Callable[[T], None]], object], *, is_urgent: bool = False) -> Steps[T]:
    """Ask at once; the steps end with the answer. `ask` gets the function that takes it.

    The work may be cancelled meanwhile: then nobody takes the answer.
    """
    waiting: Awaited[T] = Awaited(is_urgent)
    ask(waiting.answer)
    return waiting.steps()


def awaited_all(asks: Sequence[Callable[[Callable[[T], None]], object]]) -> Steps[list[T]]:
    """Ask all of them at once; the steps end with the answers, in the order of `asks`, when all have come."""
    answers: list[Any] = [None] * len(asks)
    waiting: Awaited[list[T]] = Awaited(is_urgent=False)
    missing = len(asks)

    def answered(position: int, value: T) -> None:
        nonlocal missing
        answers[position] = value
        missing -= 1
        if missing == 0:
            waiting.answer(answers)

    for position, ask in enumerate(asks):
        ask(partial(answered, position))
    if not asks:
        waiting.answer(answers)
    return waiting.steps()


class SlicedWork:
    """Work under way. `done` or `failed` is called at its end, unless it was cancelled."""

    __slots__ = ("_done", "_failed", "_resume", "_steps", "held_bytes", "is_waiting", "source")

    def __init__(
        self,
        steps: Steps[Any],
        done: Callable[[Any], None],
        failed: Callable[[Exception], None],
        source: str | None,
        resume: "Callable[[SlicedWork, bool], None]",
    ) -> None:
        """`resume` is called with the work, and whether that is urgent, when what it waits for is answered."""
        self._steps: Steps[Any] | None = steps
        self._done = done
        self._failed = failed
        self._resume = resume
        self.is_waiting = False
        """Whether it waits for an answer: it has no turn until then."""
        self.source = source
        """The address of the client that asked for it; None: work of the server itself."""
        self.held_bytes = 0
        """The bytes that it said it will hold after its next step."""

    @property
    def has_ended(self) -> bool:
        return self._steps is None

    def cancel(self) -> None:
        steps, self._steps = self._steps, None
        # It may wait for its turn for a while: it keeps neither its request nor what it has read.
        self._done = self._failed = _ignore
        self.held_bytes = 0
        if steps is not None:
            steps.close()

    def run(self, until: float, held_bytes_max: int = UNBOUNDED_BYTES) -> bool:
        """Take steps until that time of `time.perf_counter`, at least one; return whether it needs no further turn.

        It needs none when it has ended, or waits for an answer. Stop before a step after which the work would hold more
        than `held_bytes_max`.
        """
        while True:
            steps = self._steps
            if steps is None:
                return True
            try:
                held_bytes = next(steps)
            except StopIteration as end:
                self._steps, self.held_bytes = None, 0
                self._done(end.value)
                return True
            except Exception as problem:
                self._steps, self.held_bytes = None, 0
                self._failed(problem)
                return True
            if held_bytes is not None:
                if type(held_bytes) is Awaited:
                    self.is_waiting = self._steps is not None
                    held_bytes.when_answered(self._answered)
                    return True
                self.held_bytes = held_bytes
                if held_bytes > held_bytes_max:
                    return self._steps is None
            if seconds() >= until:
                return self._steps is None

    def _answered(self, waited_for: Awaited[Any]) -> None:
        """Also when it was cancelled meanwhile: its turn finds that, and what it held counts no more."""
        self.is_waiting = False
        self._resume(self, waited_for.is_urgent)


def _ignore(result: object) -> None:
    """The result of cancelled work."""


def _raise(problem: Exception) -> None:
    """A defect of the server, which the event loop logs."""
    raise problem


class _Rotation:
    """Work that waits for its turn: each address in turn, and of each address each request in turn."""

    def __init__(self) -> None:
        self.by_source: OrderedDict[str | None, deque[SlicedWork]] = OrderedDict()
        """What waits; empty if nothing does. Asked for each Produce, so without a call."""

    def add(self, work: SlicedWork) -> None:
        queue = self.by_source.get(work.source)
        if queue is None:
            queue = self.by_source[work.source] = deque()
        queue.append(work)

    def pop(self) -> SlicedWork:
        source, queue = next(iter(self.by_source.items()))
        work = queue.popleft()
        if queue:
            self.by_source.move_to_end(source)
        else:
            del self.by_source[source]
        return work


class Slices:
    """Runs sliced work. New work begins at once, unless other new work waits; what takes longer goes on in turn.

    The server's own work (markers, deletions) has a queue of its own and half of the time, if others wait as well.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` calls back in the next iteration of the event loop."""
        self._call_soon = call_soon
        self._new = _Rotation()
        """Requests that have not begun, as too much was begun in their iteration."""
        self._begun = _Rotation()
        self._own = _Rotation()
        self._held = _HeldBytes()
        self._suspended: dict[SlicedWork, None] = {}
        """Work that goes on when there is room for what it will hold."""
        self._now = 0.0
        """The time at which `has_time` was asked."""
        self._new_until = 0.0
        """Until when new work is begun in this iteration, as `time.perf_counter` counts; 0 if there was none yet."""
        self._is_turn_requested = False
        self._is_stopped = False

    def has_time(self) -> bool:
        """Whether new work may begin at once in this iteration; otherwise it is to be started, and waits for its turn.

        For a handler whose usual work is a single step.
        """
        if self._new.by_source:
            return False
        now = self._now = seconds()
        if not self._new_until:
            self._new_until = now + TURN_SECONDS
            self._call_soon(self._end_iteration)
        return now < self._new_until

    def start(
        self,
        steps: Steps[T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        source: str | None = None,
        held_bytes: int = 0,
    ) -> SlicedWork | None:
        """Begin with the work; return it if it has not ended yet. Then `done` or `failed` is called later.

        `held_bytes` is what it holds already: it goes on before work of its address that has not taken its own yet.

        When too much was begun in this iteration already, it begins in a later one. `source` is the address of the
        client that asks for it: addresses have turns. None is for work of the server itself.
        """
        work = SlicedWork(steps, done, failed, source, self._answered)
        if self._is_stopped:
            return work
        if held_bytes:
            work.held_bytes = held_bytes
            self._held.count_first(work)
        if (source is not None or not self._own.by_source) and self.has_time():
            held_bytes_max = MUCH_BYTES if self._held.sum_bytes else UNBOUNDED_BYTES
            if work.run(self._now + SLICE_SECONDS, held_bytes_max):
                if work.is_waiting or held_bytes:
                    self._held.count(work)
                return work if work.is_waiting else None
            self._wait(work)
        elif source is None:
            self._own.add(work)
        else:
            self._new.add(work)
        self._request_turn()
        return work

    def later(self, steps: Steps[None], source: str) -> None:
        """Do work that nobody waits for, from the next iteration on. It must not fail."""
        self._begun.add(SlicedWork(steps, _ignore, _raise, source, self._answered))
        self._request_turn()

    def stop(self) -> None:
        """Before the logs are closed: nothing goes on or begins from now on, and nobody is told."""
        self._is_stopped = True

    def _answered(self, work: SlicedWork, is_urgent: bool) -> None:
        """Go on with work whose answer came: at once if it is urgent or there is time in this iteration."""
        if self._is_stopped:
            return
        if not (is_urgent or self.has_time()) or not work.run(seconds() + SLICE_SECONDS, self._held.room_bytes(work)):
            self._wait(work)
        else:
            self._held.count(work)
            self._resume_suspended(work.source)
            return
        self._request_turn()

    def _run(self, work: SlicedWork) -> None:
        """Take the steps of a slice. If the work has not ended then, it waits for its next turn."""
        if work.run(seconds() + SLICE_SECONDS, self._held.room_bytes(work)):
            self._held.count(work)
            self._resume_suspended(work.source)
        else:
            self._wait(work)

    def _wait(self, work: SlicedWork) -> None:
        """Let work that has begun wait for its next turn, or until there is room for what it will hold."""
        if work.source is None:
            self._own.add(work)
            return
        self._held.count(work)
        if work.held_bytes > self._held.room_bytes(work):
            self._suspended[work] = None
        else:
            self._begun.add(work)

    def _end_iteration(self) -> None:
        self._new_until = 0.0

    def _request_turn(self) -> None:
        if not self._is_turn_requested:
            self._is_turn_requested = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_requested = False
        self._new_until = 0.0
        if self._is_stopped:
            return
        # Each kind has one slice at least, however much time has passed: all work comes to its end.
        until = seconds() + TURN_SECONDS
        while self._new.by_source:
            self._run(self._new.pop())
            if seconds() >= until:
                break
        until = seconds() + TURN_SECONDS
        if self._own.by_source:
            self._continue_own(until - TURN_SECONDS / 2 if self._begun.by_source or self._suspended else until)
        while self._begun.by_source:
            self._run(self._begun.pop())
            if seconds() >= until:
                break
        if self._new.by_source or self._begun.by_source or self._own.by_source or self._suspended:
            self._request_turn()

    def _continue_own(self, until: float) -> None:
        while self._own.by_source:
            work = self._own.pop()
            if not work.run(seconds() + SLICE_SECONDS):
                self._own.add(work)
            if seconds() >= until:
                break

    def _resume_suspended(self, source: str | None) -> None:
        """After the end of work of an address, let the next one of it go on, and any for which there is room now."""
        if self._suspended:
            oldest = self._held.oldest(source)
            if oldest in self._suspended:
                del self._suspended[oldest]
                self._begun.add(oldest)
            while self._suspended and self._held.has_room:
                work = next(iter(self._suspended))
                del self._suspended[work]
                self._begun.add(work)


class _HeldBytes:
    """What the work under way holds, as far as it is much, by the address that it is for."""

    def __init__(self) -> None:
        self.sum_bytes = 0
        self._by_source: dict[str | None, dict[SlicedWork, int]] = {}
        """The oldest work first."""

    @property
    def has_room(self) -> bool:
        return self.sum_bytes <= HELD_BYTES_MAX

    def oldest(self, source: str | None) -> SlicedWork | None:
        works = self._by_source.get(source)
        return next(iter(works)) if works else None

    def room_bytes(self, work: SlicedWork) -> int:
        """What this work may hold: without a bound if it is the oldest of its address, so that it comes to its end."""
        works = self._by_source.get(work.source)
        if not works or next(iter(works)) is work:
            return UNBOUNDED_BYTES
        return max(HELD_BYTES_MAX - self.sum_bytes + works.get(work, 0), MUCH_BYTES)

    def count_first(self, work: SlicedWork) -> None:
        """Count work as the oldest of its address."""
        self.count(work)
        works = self._by_source.get(work.source, {})
        if work in works:
            self._by_source[work.source] = {work: works.pop(work), **works}

    def count(self, work: SlicedWork) -> None:
        works = self._by_source.get(work.source)
        counted_bytes = 0 if works is None else works.get(work, 0)
        held_bytes = work.held_bytes if work.held_bytes > MUCH_BYTES else 0
        if held_bytes == counted_bytes:
            return
        self.sum_bytes += held_bytes - counted_bytes
        if held_bytes:
            if works is None:
                works = self._by_source[work.source] = {}
            works[work] = held_bytes
        elif works is not None:
            del works[work]
            if not works:
                del self._by_source[work.source]


def merge(into: dict[K, T], elements: list[T], key_of: Callable[[T], K]) -> Steps[None]:
    """Put elements into a dict by their key, in steps where they are very many. Of a key the last one counts."""
    for start in range(0, len(elements), MERGED_AT_ONCE):
        if start:
            yield
        into.update((key_of(element), element) for element in elements[start : start + MERGED_AT_ONCE])


def one_by_one(items: Iterable[S], make: Callable[[S], T]) -> Steps[list[T]]:
    """What is made of each element of a request."""
    made = []
    for number, item in enumerate(items, 1):
        made.append(make(item))
        if number % MERGED_AT_ONCE == 0:
            yield
    return made


def at_once(steps: Steps[T]) -> T:
    """Do sliced work without a break. What it waits for has to be answered already."""
    while True:
        try:
            waited_for = next(steps)
            assert type(waited_for) is not Awaited, "nobody answers meanwhile"
        except StopIteration as end:
            result: T = end.value
            return result
