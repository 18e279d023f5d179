"""The problems of a program, each at its field: all of them during editing, the first one when it is put.

    its form          types, bounds, patterns, fields that belong together  (``Configuration``)
    its references    models, filters, files, queries, columns, addresses   (``ProgramChecks.problems``)

A field is a path in the body: ``dataConnectors.0.query``. Parts with the wrong form are left out when the rest is
checked, so that one mistake does not hide another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from tablewright.runtime import Invalid
from tablewright.runtime.parameter_texts import message_of
from tablewright.systems.engagement.configuration import Configuration, FilesConnector, FilterChain
from tablewright.systems.engagement.delivery.deliveries import Deliveries
from tablewright.systems.engagement.delivery.outbound_http import Outbound, Refusal
from tablewright.systems.engagement.scoring.filter_chain import ELIGIBILITY, PREFERENCE, Chain, attributes_of
from tablewright.systems.engagement.scoring.scores import Scorer
from tablewright.systems.engagement.sources.connectors import Sources

__all__ = ["FieldError", "ProgramChecks", "Review"]

# Replaces a part that has the wrong form, where one is required.
_STAND_INS: Mapping[str, Any] = {
    "programName": "-",
    "scoringModels": [{"modelId": "none", "weight": 1}],
    "channels": [{"channelId": "none", "priority": 1}],
}
_MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong, and where; an empty field means the program as a whole."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Review:
    """The problems of a program, and the attributes that its texts and rules may use; None if these are unknown."""

    problems: Sequence[FieldError]
    attributes: Sequence[str] | None


class ProgramChecks:
    """Checks programs against what is available here."""

    def __init__(self, scorer: Scorer, sources: Sources, deliveries: Deliveries, outbound: Outbound) -> None:
        self._scorer = scorer
        self._sources = sources
        self._deliveries = deliveries
        self._outbound = outbound

    def check(self, configuration: Configuration) -> None:
        """Raise Invalid if a program could not work here."""
        for problem in self.problems(configuration):
            raise problem

    def review(self, body: Mapping[str, Any], form: type[Configuration]) -> Review:
        """All problems of a program as it was written, in whatever form; ``form`` is the form of a put."""
        found: list[FieldError] = []
        given = dict(body)
        while True:
            try:
                # As strict as a put: "5" is not a number there.
                configuration = form.model_validate_json(orjson.dumps(given), strict=True)
                break
            except ValidationError as error:
                wrong = [_of_form(each) for each in error.errors(include_url=False)]
                found += wrong
                parts = {each.field.partition(".")[0] for each in wrong}
                if "dataConnectors" in parts:
                    # A schedule needs one, and there may be one once it is corrected.
                    parts.add("batchSchedule")
                before = dict(given)
                for part in parts:
                    given.pop(part, None)
                    if part in _STAND_INS:
                        given[part] = _STAND_INS[part]
                if given == before:
                    # This concerns several parts together.
                    return Review(found[:_MAX_PROBLEMS], None)
        away = {each.field.partition(".")[0] for each in found}
        attributes: list[frozenset[str] | None] = []
        for problem in self.problems(configuration, attributes):
            field = str(problem.details.get("field", ""))
            if field.partition(".")[0] not in away:
                found.append(FieldError(field, str(problem)))
        known = common(attributes, configuration.event_attributes) if len(attributes) else None
        return Review(found[:_MAX_PROBLEMS], None if known is None else sorted(known))

    def problems(
        self, configuration: Configuration, attributes: list[frozenset[str] | None] | None = None
    ) -> Iterator[Invalid]:
        """Yields the problems of a program here; adds the attributes of each connector to ``attributes``."""
        for number, model in enumerate(configuration.scoring_models):
            yield from _caught(f"scoringModels.{number}", lambda model=model: self._scorer.check(model), "modelId")
            if model.endpoint is not None:
                yield from self._of_endpoint(f"scoringModels.{number}", model.endpoint, model.headers)
        rules_are_known = True
        for name in dict.fromkeys([PREFERENCE, *configuration.filter_chain.filters]):
            settings = configuration.filter_chain.settings
            alone = FilterChain.model_construct(filters=[name], settings={name: settings.get(name, {})})
            wrong = list(_caught("filterChain", lambda alone=alone: Chain(alone), f"settings.{name}"))
            rules_are_known = rules_are_known and not (wrong and name == ELIGIBILITY)
            yield from wrong
        found: list[frozenset[str] | None] = [] if attributes is None else attributes
        are_known = True
        for number, connector in enumerate(configuration.data_connectors):
            place = f"dataConnectors.{number}"
            wrong = list(_caught(place, lambda connector=connector: _check_names(connector), "tables"))
            if not wrong:
                wrong = list(_caught(place, lambda connector=connector: found.append(self._sources.check(connector))))
            are_known = are_known and not wrong
            yield from wrong
        if not are_known:
            # The attributes of customers are unknown, so references to them cannot be checked.
            found.append(None)
        if rules_are_known:
            yield from _caught(
                "filterChain",
                lambda: _check_rule(attributes_of(configuration.filter_chain), found, configuration.event_attributes),
                "settings.eligibility",
            )
        known = common(found, configuration.event_attributes)
        for number, channel in enumerate(configuration.channels):
            yield from _caught(
                f"channels.{number}", lambda channel=channel: self._deliveries.check(channel, known), "config"
            )

    def _of_endpoint(self, place: str, endpoint: str, headers: Mapping[str, str]) -> Iterator[Invalid]:
        for name, check in (
            ("endpoint", lambda: self._outbound.check(endpoint)),
            ("headers", lambda: self._outbound.credentials(endpoint, headers)),
        ):
            try:
                check()
            except Refusal as refusal:
                yield Invalid(f"{name}: {refusal}", kind="invalid-request", field=f"{place}.{name}")


def _caught(place: str, check: Any, otherwise: str = "") -> Iterator[Invalid]:
    """What a check raises, with its path in the body: the check names a field of the part."""
    try:
        check()
    except Invalid as error:
        field = error.details.pop("field", None) or otherwise
        yield Invalid(str(error), kind=error.kind, **error.details, field=f"{place}.{field}" if field else place)


def _of_form(error: Mapping[str, Any]) -> FieldError:
    steps = [str(step) for step in error["loc"]]
    if len(steps) > 2 and steps[0] == "dataConnectors":
        # The kind of connector is not a segment of the path in the body.
        del steps[2]
    return FieldError(".".join(steps), message_of(error))


def common(found: Sequence[frozenset[str] | None], of_events: Sequence[str]) -> frozenset[str] | None:
    """The attributes that customers of a program can have; None if those of some connector are unknown.

    A program without connectors has those of its events, which need not be declared.
    """
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not (known or of_events):
        return None
    return frozenset.intersection(*known).union(of_events) if known else frozenset(of_events)


def _check_rule(asked: set[str], found: Sequence[frozenset[str] | None], of_events: Sequence[str]) -> None:
    """Raise Invalid if a rule uses an attribute that no customer can have: none would be eligible."""
    if None in found or not (found or of_events):
        return
    known = frozenset(of_events).union(*(each for each in found if each is not None))
    for name in sorted(asked - known):
        there_are = f"use one of {', '.join(sorted(known))}" if known else "customers have none"
        raise Invalid(
            f"eligibility: there is no attribute {name}; {there_are}. "
            "List an attribute that only events have in eventAttributes"
        )


def _check_names(connector: object) -> None:
    """Raise Invalid if two tables of a query have names that differ in case only."""
    seen: dict[str, str] = {}
    for table in connector.tables if isinstance(connector, FilesConnector) else ():
        other = seen.setdefault(table.lower(), table)
        if other != table:
            raise Invalid(f"tables: {other} and {table} are the same name in a query, which ignores case")
