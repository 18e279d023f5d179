"""Two places as one backend: requests go to the place whose switch is open, and wait while it is held.

    request ─▶ is the switch known, and open? ─▶ send ─▶ is it still so? ─▶ response
                  │ no: wait for the next look              │ it has moved: a read is sent again, to the other place;
                  ▼                                         ▼ a write may have been made or not: OutcomeUnknown
             a thread looks at the switch, every few hundredths of a second

A response counts only while what is known of the switch is good (``place_switch``). So whatever was acknowledged was
done before the relocation has read the rest of the stream, however long a request was on its way; and no read is
answered by a place that others have left. Reads wait with writes, for the same reason.

Streams are read where they are, also those of a place that was left: a consumer finishes them first. Iterators have the
place in front.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

from tablewright.store.errors import OutcomeUnknown, ServiceError
from tablewright.store.flow.driver import Backend, Request, Response
from tablewright.store.flow.retry import is_undone, tables_of
from tablewright.store.switch.place_switch import BROKEN_AFTER_SECONDS, PlaceSwitch, awake_seconds

_READS: Final = frozenset(
    {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems", "DescribeTable", "ListTables", "ListStreams"}
    | {"DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource", "DescribeLimits", "DescribeEndpoints"}
)
_LOOK_SECONDS: Final = 1.0
# How long a request waits at most for a switch that is held, or cannot be read.
_WAIT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.01
_MAX_STEPS: Final = 4
# Transactions whose response got lost, so that none of them is executed in both places.
_MAX_LOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    """What was last seen: the place, what its switch said, and the time before it was asked."""

    place: int
    switch: PlaceSwitch
    at: float

    def same_as(self, other: _Known) -> bool:
        return (self.place, self.switch.epoch) == (other.place, other.switch.epoch)


# The place to send a request to; None: wait a moment.
_Steps = Generator[int | None, Any, Response]


class SwitchedBackend:
    """Sends requests to the first of two places until its tables have moved, and then to the second."""

    def __init__(self, first: Backend, second: Backend, clock: Callable[[], float] = awake_seconds) -> None:
        self._places = (first, second)
        self._clock = clock
        self._known: _Known | None = None
        self._place = 0
        self._error: ServiceError | None = None
        self._held: tuple[tuple[int, str], float] | None = None
        self._news = threading.Condition()
        self._wake = threading.Event()
        self._closed = False
        self._watcher: threading.Thread | None = None
        # The epoch in which each of them was sent, by its token.
        self._lost: OrderedDict[str, int] = OrderedDict()
        # Where each stream is, by its ARN.
        self._streams: dict[str, int] = {}

    # -- threads and asyncio: what differs between them is here, in pairs -------------------------------------------

    def call(self, request: Request) -> Response:
        steps = self._steps(request)
        try:
            step = next(steps)
            while True:
                if step is None:
                    with self._news:
                        self._news.wait(_PAUSE_SECONDS)
                    step = next(steps)
                    continue
                try:
                    response = self._places[step].call(request)
                except ServiceError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as end:
            found: Response = end.value
            return found

    async def call_async(self, request: Request) -> Response:
        steps = self._steps(request)
        try:
            step = next(steps)
            while True:
                if step is None:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    step = next(steps)
                    continue
                try:
                    response = await self._places[step].call_async(request)
                except ServiceError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as end:
            found: Response = end.value
            return found

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        if self._watcher is not None:
            self._watcher.join(2 * _LOOK_SECONDS)
        for place in self._places:
            place.close()

    # -- one request ------------------------------------------------------------------------------------------------

    def _steps(self, request: Request) -> _Steps:
        if request.operation in ("DescribeStream", "GetShardIterator"):
            return self._stream(request)
        if request.operation == "GetRecords":
            return self._records(request)
        return self._switched(request)

    def _switched(self, request: Request) -> _Steps:
        until = self._clock() + _WAIT_SECONDS
        while True:
            known = yield from self._opened(request, until)
            if self._is_elsewhere(request, known):
                # Tables that do not move are where they were.
                unmoved: Response = yield 0
                return unmoved
            self._check_token(request, known)
            response, error = None, None
            try:
                response = yield known.place
            except ServiceError as failed:
                error = failed
            arrived = self._clock()
            now = yield from self._opened(request, until, known, arrived)
            if now.same_as(known):
                if error is not None:
                    self._note_lost(request, known, error)
                    raise error
                assert response is not None
                return (yield from self._listed(request, known.place, response))
            if request.operation in _READS or (error is not None and is_undone(error)):
                continue
            raise OutcomeUnknown(
                request.operation,
                error or ServiceError("PlaceChanged", "the tables were moved while the request was in progress"),
            )

    def _opened(
        self, request: Request, until: float, sent: _Known | None = None, arrived: float | None = None
    ) -> Generator[None, Any, _Known]:
        """What is known of the switch, as soon as that is good and the place is open.

        For a response: good if it is new enough when the response has arrived, or was asked for after that.
        """
        self._watch()
        while True:
            known = self._known
            if known is not None:
                is_good = self._clock() < known.at + known.switch.lease or (arrived is not None and known.at >= arrived)
                if is_good and (known.switch.state == "open" or self._is_elsewhere(request, known)):
                    return known
                if not is_good:
                    self._wake.set()
            late = self._clock() > until or (request.deadline is not None and time.monotonic() > request.deadline)
            if late:
                if sent is not None and request.operation not in _READS:
                    raise OutcomeUnknown(request.operation, self._why(known))
                raise self._why(known)
            yield None

    def _why(self, known: _Known | None) -> ServiceError:
        if known is not None and known.switch.state == "held" and self._error is None:
            return ServiceError(
                "NotConnected",
                f"the tables are being relocated, and the request was held for {_WAIT_SECONDS:g} s; try again",
            )
        return ServiceError("NotConnected", f"the switch of the tables cannot be read: {self._error}")

    @staticmethod
    def _is_elsewhere(request: Request, known: _Known) -> bool:
        """Whether a request is about other tables than those that move."""
        moving, named = known.switch.tables, tables_of(request)
        if not moving or not named:
            return False
        inside = [name for name in named if name in moving]
        if inside and len(inside) < len(named):
            outside = [name for name in named if name not in moving]
            raise ServiceError(
                "ValidationException",
                f"{', '.join(inside)} are being relocated and {', '.join(outside)} are not, so one request cannot "
                "use both; relocate them together",
            )
        return not inside

    # -- transactions -----------------------------------------------------------------------------------------------

    def _check_token(self, request: Request, known: _Known) -> None:
        """A token is known to one place only: there, the second attempt of a transaction does nothing."""
        token = request.body.get("ClientRequestToken", "")
        if self._lost.get(token, known.switch.epoch) != known.switch.epoch:
            moved = ServiceError("PlaceChanged", "the tables were moved before it could be repeated")
            raise OutcomeUnknown(request.operation, moved)

    def _note_lost(self, request: Request, known: _Known, error: ServiceError) -> None:
        token = request.body.get("ClientRequestToken")
        if token is not None and not is_undone(error):
            self._lost.setdefault(token, known.switch.epoch)
            while len(self._lost) > _MAX_LOST:
                self._lost.popitem(last=False)

    # -- streams ----------------------------------------------------------------------------------------------------

    def _listed(self, request: Request, place: int, response: Response) -> _Steps:
        """A response with the streams of both places, if it lists streams; and where each of them is."""
        if request.operation == "DescribeTable":
            self._note_stream(response["Table"].get("LatestStreamArn"), place)
        if request.operation != "ListStreams" or self._known is None or not self._known.switch.tables:
            return response
        for entry in response["Streams"]:
            self._note_stream(entry["StreamArn"], place)
        if "LastEvaluatedStreamArn" in response:
            return response
        other = 1 - place
        listed = request.body
        try:
            while True:
                request.body = {name: value for name, value in listed.items() if name == "TableName"}
                further = yield other
                for entry in further["Streams"]:
                    self._note_stream(entry["StreamArn"], other)
                    response["Streams"].append(entry)
                if "LastEvaluatedStreamArn" not in further:
                    return response
                request.body["ExclusiveStartStreamArn"] = further["LastEvaluatedStreamArn"]
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            return response
        finally:
            request.body = listed

    def _note_stream(self, arn: str | None, place: int) -> None:
        if arn is not None:
            self._streams[arn] = place

    def _stream(self, request: Request) -> _Steps:
        arn = request.body.get("StreamArn", "")
        place = self._streams.get(arn, self._place)
        try:
            response = yield place
        except ServiceError as error:
            if error.code != "ResourceNotFoundException" or arn in self._streams:
                raise
            place = 1 - place
            response = yield place
            self._note_stream(arn, place)
        return _marked(response, "ShardIterator", place)

    def _records(self, request: Request) -> _Steps:
        body = request.body
        mark, _, iterator = body.get("ShardIterator", "").partition(":")
        place = int(mark == "1")
        request.body = {**body, "ShardIterator": iterator}
        try:
            response = yield place
        finally:
            request.body = body
        return _marked(response, "NextShardIterator", place)

    # -- looking at the switch --------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._watcher is None and not self._closed:
            with self._news:
                if self._watcher is None:
                    self._watcher = threading.Thread(target=self._look_on, name="tablewright-switch", daemon=True)
                    self._watcher.start()

    def _look_on(self) -> None:
        while not self._closed:
            try:
                self._look()
                self._error = None
            except ServiceError as error:
                self._error = error
                # Not at once, even if requests are waiting: the place is down.
                time.sleep(_PAUSE_SECONDS)
            known = self._known
            self._wake.wait(_PAUSE_SECONDS if known is None else known.switch.poll)
            self._wake.clear()

    def _look(self) -> None:
        """Read the switch, and follow it to the place that it names; complete steps that another process has begun."""
        for _ in range(_MAX_STEPS):
            at = self._clock()
            switch = self._read(self._place)
            if switch.state == "standby":
                raise ServiceError(
                    "PlaceChanged",
                    "the configured endpoint is the one that tables are moved to; swap the endpoint and relocate_to",
                )
            if switch.state != "moved":
                self._break(switch, at)
                with self._news:
                    self._known = _Known(self._place, switch, at)
                    self._news.notify_all()
                return
            other = 1 - self._place
            if self._read(other).epoch < switch.epoch:
                self._send(other, PlaceSwitch.opening(switch.epoch, switch.tables))
            self._place = other

    def _break(self, switch: PlaceSwitch, now: float) -> None:
        """End a hold that has lasted for too long: the relocation was stopped, and will begin again."""
        if switch.state != "held":
            self._held = None
        elif self._held is None or self._held[0] != (switch.epoch, switch.hold):
            self._held = (switch.epoch, switch.hold), now
        elif now - self._held[1] > BROKEN_AFTER_SECONDS:
            self._send(self._place, switch.releasing())

    def _read(self, place: int) -> PlaceSwitch:
        request = PlaceSwitch.read()
        request.deadline = time.monotonic() + _LOOK_SECONDS
        try:
            response = self._places[place].call(request)
        except ServiceError as error:
            if error.code == "ResourceNotFoundException":
                return PlaceSwitch.of(None)
            raise
        return PlaceSwitch.of(response.get("Item"))

    def _send(self, place: int, body: dict[str, Any]) -> None:
        """Make a step of the switch; another process may have made it."""
        request = Request("UpdateItem", body, deadline=time.monotonic() + _LOOK_SECONDS)
        try:
            self._places[place].call(request)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise


def _marked(response: Response, name: str, place: int) -> Response:
    """A response whose iterator says which place it is of."""
    return {**response, name: f"{place}:{response[name]}"} if response.get(name) is not None else response
