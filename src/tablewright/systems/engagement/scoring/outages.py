"""Patience with models: how a run waits while one is unavailable.

    call ──▶ ModelOutage ──▶ wait, call again ──▶ ... ──▶ scores, or Paused once the run has waited long enough

A batch that fails while the model returns scores for other customers is not an outage but an error of its customers. So
after some attempts the model is called for another customer first: one that it has scored, or one that comes next.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tablewright.systems.engagement.scoring.prospects import Prospect
from tablewright.systems.engagement.sources.row_chunks import Halted

__all__ = ["ModelFailed", "ModelOutage", "Patience", "Paused"]

# Attempts before the model is called for another customer.
PROBED_AFTER = 3
_FIRST_WAIT = 0.25
_MAX_WAIT = 15.0
_LOOK_EVERY = 0.2


class ModelFailed(Exception):
    """A model that returned no scores; the text is the reason, the same for all failures of its kind."""


class ModelOutage(ModelFailed):
    """A model that is unavailable for all customers, as far as known: it cannot be reached, or refuses every request.

    ``rest`` is the seconds for which it is not called; ``by_policy`` means that the settings do not allow calling it.
    """

    def __init__(self, reason: str, *, rest: float = 0.0, by_policy: bool = False) -> None:
        super().__init__(reason)
        self.rest = rest
        self.by_policy = by_policy


class Paused(Exception):
    """A run that has waited too long; the text says for what."""


@dataclass(slots=True)
class Patience:
    """How long a run waits for a model, and what it knows of the models that it has called."""

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
        """Wait before the next attempt; Paused if it is too long ``since`` the first, Halted if that is requested."""
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
