"""Patience with models: what a run does while one is unavailable.

    asked ──▶ ModelOutage ──▶ wait, ask again ──▶ ... ──▶ answered, or Paused once the run has waited long enough

A batch that fails while the model answers for other customers is no outage but an error of its customers. So after
some attempts the model is asked about another customer first: one that it has scored, or one that comes next.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources.row_chunks import Halted

__all__ = ["ModelFailed", "ModelOutage", "Patience", "Paused"]

# Attempts before the model is asked about another customer.
PROBED_AFTER = 3
_FIRST_WAIT = 0.25
_MAX_WAIT = 15.0
_LOOK_EVERY = 0.2


class ModelFailed(Exception):
    """A model that gave no answers; the text is the reason, the same for all of its kind."""


class ModelOutage(ModelFailed):
    """A model that gives nobody answers, as far as is known: it cannot be reached, or refuses every request.

    ``rest`` is how many seconds it is left alone; ``by_policy`` says that it is not asked at all, by our own settings.
    """

    def __init__(self, reason: str, *, rest: float = 0.0, by_policy: bool = False) -> None:
        super().__init__(reason)
        self.rest = rest
        self.by_policy = by_policy


class Paused(Exception):
    """A run that has waited long enough; the text says for what."""


@dataclass(slots=True)
class Patience:
    """How long a run waits for a model, and what it knows of the models that it has asked."""

    seconds: float
    halted: Callable[[], bool] = lambda: False
    # Called when a wait begins, with what is waited for.
    notify: Callable[[str], None] = lambda reason: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    entropy: random.Random = field(default_factory=random.Random)
    # By model: a customer that it has scored.
    known: dict[str, Prospect] = field(default_factory=dict)

    def wait(self, model_id: str, outage: ModelOutage, attempt: int, since: float) -> None:
        """Wait before the next attempt; Paused if it has been too long ``since`` the first, Halted if that is asked."""
        reason = f"{model_id}: {outage}"
        now = self.clock()
        if outage.by_policy or now - since >= self.seconds:
            raise Paused(reason)
        self.notify(reason)
        pause = min(_MAX_WAIT, _FIRST_WAIT * 2**attempt)
        until = now + max(outage.rest, self.entropy.uniform(pause / 2, pause))
        until = min(until, since + self.seconds)
        while (left := until - self.clock()) > 0:
            if self.halted():
                raise Halted
            self.sleep(min(_LOOK_EVERY, left))
