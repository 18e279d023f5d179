"""Scores: every model of a program for many customers at once, through the cache.

    @model("propensity-v1")
    def propensity(prospects):                      one number, or Scored(value, confidence), for each
        return [Decimal(...) for prospect in prospects]

A model without an endpoint is the registered function of its name; one with an endpoint is called over HTTP
(``http_models``). In both cases its results are checked: as many as were requested, numbers, within the range in the
configuration. An invalid score is that customer's error; an invalid response is an error of
every customer in the batch; neither ends a run. While a model is unavailable, a run waits (``outages``); an event does
not.

A model is identified by its id, in all programs. A score in the cache that has not expired is not computed again.
Scores are stored in the cache before they are used, so that a resumed run continues with the same numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Any, Protocol

from tablewright.runtime import Invalid
from tablewright.store import Store, TolerantReader, Unavailable
from tablewright.systems.engagement.configuration import ScoringModel
from tablewright.systems.engagement.model import ModelScore, Score
from tablewright.systems.engagement.scoring.outages import PROBED_AFTER, ModelFailed, ModelOutage, Patience
from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.scoring.registry import Registry
from tablewright.systems.engagement.sources.row_chunks import Halted
from tablewright.systems.unreadable_log import UnreadableLog

_log = logging.getLogger(__name__)

_ROUNDING = Context(prec=30)
# Below that a score counts as 0; DynamoDB's smallest number is 1e-130, and weights are multiplied in.
_MIN_SCORE = Decimal("1e-60")


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of a model for a customer."""

    value: Any
    confidence: Any = None


Function = Callable[[Sequence[Prospect]], Sequence[Any]]

_functions: Registry[Function] = Registry()


def model(name: str) -> Callable[[Function], Function]:
    """Register a function as the model with a name."""
    return _functions.register(name)


class Remote(Protocol):
    """Calls an endpoint; stops retrying once ``halted`` says that the results are no longer needed."""

    def __call__(
        self,
        model: ScoringModel,
        prospects: Sequence[Prospect],
        deadline: float | None,
        halted: Callable[[], bool] = lambda: False,
    ) -> list[Any]: ...


@dataclass(slots=True)
class Scores:
    """The result of scoring one customer: a score of each model, or why there is none."""

    found: dict[str, ModelScore] = field(default_factory=dict)
    error: str | None = None
    cached: int = 0


@dataclass(frozen=True, slots=True)
class _Asked:
    """A batch of customers for one call of a model."""

    model: ScoringModel
    prospects: Sequence[Prospect]
    # Positions of those in the batch, and of one that comes after it.
    batch: Sequence[int]
    after: Sequence[int]
    deadline: float | None
    halted: Callable[[], bool]
    # Whether the results are stored in the cache.
    is_kept: bool

    @property
    def customers(self) -> list[Prospect]:
        return [self.prospects[index] for index in self.batch]

    @property
    def next(self) -> Prospect | None:
        return self.prospects[self.after[0]] if self.after else None


class Scorer:
    """Scores prospects."""

    def __init__(
        self, store: Store, remote: Remote, clock: Callable[[], datetime], unreadable_log: UnreadableLog | None = None
    ) -> None:
        self._store = store
        self._reader = TolerantReader(store, (unreadable_log or UnreadableLog("engagement")).add)
        self._remote = remote
        self._clock = clock

    def check(self, model: ScoringModel) -> None:
        """Raise Invalid if there is no such model."""
        if model.endpoint is None and _functions.get(model.model_id) is None:
            known = _functions.names()
            raise Invalid(f"unknown model {model.model_id}: register it, or set an endpoint; registered are {known}")

    def score(
        self,
        models: Sequence[ScoringModel],
        prospects: Sequence[Prospect],
        *,
        fresh: bool = False,
        deadline: float | None = None,
        halted: Callable[[], bool] = lambda: False,
        patience: Patience | None = None,
        keep: bool = True,
    ) -> list[Scores]:
        """Scores of each prospect. ``fresh`` bypasses the cache; Halted if ``halted`` says so in between.

        Scores of models are stored in the cache, unless ``keep`` is off.

        With ``patience``, it waits for unavailable models: Paused if that takes too long.
        """
        results = [Scores() for _ in prospects]
        for each in models:
            waiting = list(range(len(prospects)))
            if not fresh:
                waiting = self._from_cache(each, prospects, results)
            for start in range(0, len(waiting), each.batch_size):
                batch = waiting[start : start + each.batch_size]
                after = waiting[start + each.batch_size :][:1]
                asked = _Asked(each, prospects, batch, after, deadline, halted, keep)
                self._ask(asked, results, patience)
                if halted():
                    raise Halted
        return results

    def _from_cache(self, model: ScoringModel, prospects: Sequence[Prospect], results: Sequence[Scores]) -> list[int]:
        """Fill in scores from the cache; return the prospects that still need one."""
        lookups = [
            Score.by_model(customer_id=each.customer_id, subject_id=each.subject.id, model_id=model.model_id)
            for each in prospects
        ]
        waiting: list[int] = []
        for index, found in enumerate(self._reader.each(lookups)):
            # A score that cannot be read is a miss, and is written again.
            if isinstance(found, Score) and _is_of(found, prospects[index], model):
                results[index].found[model.model_id] = found.score
                results[index].cached += 1
            else:
                waiting.append(index)
        return waiting

    def _ask(self, asked: _Asked, results: Sequence[Scores], patience: Patience | None) -> None:
        model = asked.model
        try:
            if patience is None:
                answers = self._answers(asked, asked.customers)
            else:
                answers = self._answers_in_time(asked, patience)
        except ModelFailed as failure:
            for index in asked.batch:
                results[index].error = results[index].error or f"{model.model_id}: {failure}"
            return
        now = self._clock()
        fresh: list[Score] = []
        for index, prospect, answer in zip(asked.batch, asked.customers, answers, strict=True):
            try:
                score = _checked(model, answer, now)
            except ValueError as error:
                results[index].error = results[index].error or f"{model.model_id}: {error}"
                continue
            results[index].found[model.model_id] = score
            fresh.append(_entry(model, prospect, score, now))
        if asked.is_kept:
            self._store.write_many(fresh)

    def _answers_in_time(self, asked: _Asked, patience: Patience) -> Sequence[Any]:
        """The results, however many calls they take; ModelFailed if only these customers get none."""
        model_id = asked.model.model_id
        customers = asked.customers
        since, attempt = patience.clock(), 0
        other = patience.known.get(model_id) or asked.next
        while True:
            answers_others = False
            try:
                if attempt >= PROBED_AFTER and other is not None:
                    answers_others = self._is_up(asked, other)
                answers = self._answers(asked, customers)
            except ModelOutage as outage:
                if answers_others:
                    raise ModelFailed(str(outage)) from None
                patience.wait(model_id, outage, attempt, since)
                attempt += 1
            else:
                patience.known[model_id] = customers[0]
                return answers

    def _is_up(self, asked: _Asked, other: Prospect) -> bool:
        """Whether a model responds for another customer, with any result; ModelOutage if it does not."""
        try:
            self._answers(asked, [other])
        except ModelOutage:
            raise
        except ModelFailed:
            pass
        return True

    def _answers(self, asked: _Asked, customers: Sequence[Prospect]) -> Sequence[Any]:
        model = asked.model
        if model.endpoint is not None:
            return self._remote_answers(model, customers, asked.deadline, asked.halted)
        function = _functions.get(model.model_id)
        if function is None:
            raise ModelFailed("it is not registered")
        try:
            answers = list(function(customers))
        except Unavailable as error:
            raise ModelOutage(f"it is unavailable ({error})") from error
        except Exception as error:
            raise ModelFailed(f"it raised {type(error).__name__}") from error
        if len(answers) != len(customers):
            raise ModelFailed("it returned a different number of scores than requested")
        return answers

    def _remote_answers(
        self, model: ScoringModel, asked: Sequence[Prospect], deadline: float | None, halted: Callable[[], bool]
    ) -> Sequence[Any]:
        try:
            return self._remote(model, asked, deadline, halted)
        except ModelFailed:
            raise
        except Exception as error:
            # Whatever the error, it concerns these customers and not the run.
            _log.error("a model could not be called", exc_info=error, extra={"system": "engagement"})
            raise ModelFailed(f"internal error while calling it: {type(error).__name__}") from error


def _checked(model: ScoringModel, answer: Any, now: datetime) -> ModelScore:
    """A result as a score; ValueError if it is not valid."""
    if answer is None:
        raise ValueError("it has no score")
    scored = answer if isinstance(answer, Scored) else Scored(answer)
    value = _number(scored.value)
    if not model.minimum <= value <= model.maximum:
        raise ValueError("a score is outside of its range")
    confidence = None if scored.confidence is None else _number(scored.confidence)
    if confidence is not None and not 0 <= confidence <= 1:
        raise ValueError("a confidence is not between 0 and 1")
    return ModelScore(value=value, confidence=confidence, timestamp=now)


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("a score is not a number")
    try:
        # The repr of another library's float differs.
        number = _ROUNDING.create_decimal(repr(float(value)) if isinstance(value, float) else value)
    except ArithmeticError:
        # Not a number, or one that is too large.
        raise ValueError("a score is not a number") from None
    if not number.is_finite():
        raise ValueError("a score is not a number")
    return number if number.copy_abs() >= _MIN_SCORE else Decimal(0)


def _is_of(found: Score, prospect: Prospect, model: ScoringModel) -> bool:
    """Whether a score in the cache is for this subject, and valid for this program."""
    return found.subject_type == prospect.subject.type and model.minimum <= found.score.value <= model.maximum


def _entry(model: ScoringModel, prospect: Prospect, score: ModelScore, now: datetime) -> Score:
    return Score(
        customer_id=prospect.customer_id,
        subject_id=prospect.subject.id,
        subject_type=prospect.subject.type,
        model_id=model.model_id,
        score=score,
        ttl=now + timedelta(hours=model.cache_hours),
    )


def combined(models: Sequence[ScoringModel], scores: dict[str, ModelScore]) -> Decimal:
    """The weighted sum of all scores."""
    total = Decimal(0)
    for each in models:
        total = _ROUNDING.add(total, _ROUNDING.multiply(each.weight, scores[each.model_id].value))
    return total if abs(total) >= _MIN_SCORE else Decimal(0)
