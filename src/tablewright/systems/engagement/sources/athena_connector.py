"""Customers from Amazon Athena: a query is started, and its result is read page by page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from botocore.exceptions import ClientError

from tablewright.runtime.aws_clients import client, transient
from tablewright.store import Unavailable
from tablewright.systems.engagement.configuration import AthenaConnector
from tablewright.systems.engagement.sources.row_chunks import IN_ORDER, Halted, Row, Unreadable

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
# Maximum rows of one response.
_PAGE = 1_000
_WHOLE = frozenset({"tinyint", "smallint", "integer", "bigint"})
_NUMBERS = frozenset({"float", "double", "real", "decimal"})


class AthenaRows:
    """Reads queries."""

    def __init__(
        self,
        connector: AthenaConnector,
        region: str | None,
        endpoint: str | None,
        *,
        within: float,
        halted: Callable[[], bool],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``within`` is the time limit of a query in seconds; ``halted`` says whether its rows are no longer needed."""
        self._connector = connector
        self._within = within
        self._halted = halted
        self._client = client("athena", region, endpoint)
        self._sleep = sleep

    def read(self, query: str, size: int, values: Sequence[str] = ()) -> Iterator[tuple[list[str], list[Row]]]:
        try:
            execution = self._finished(f"{query} {IN_ORDER}")
            yield from self._pages(execution, min(size, _PAGE))
        except Unavailable as error:
            raise Unreadable(str(error)) from error

    def count(self, query: str) -> int | None:
        """Unknown without running the query, which costs as much as reading it."""
        return None

    def _finished(self, query: str) -> str:
        connector = self._connector
        context = {"Database": connector.database, "Catalog": connector.catalog}
        request: dict[str, Any] = {
            "QueryString": query,
            "QueryExecutionContext": {name: value for name, value in context.items() if value is not None},
        }
        if connector.workgroup is not None:
            request["WorkGroup"] = connector.workgroup
        if connector.output_location is not None:
            request["ResultConfiguration"] = {"OutputLocation": connector.output_location}
        try:
            with transient("Athena"):
                execution = str(self._client.start_query_execution(**request)["QueryExecutionId"])
        except ClientError as error:
            raise Unreadable(f"Athena refused the query: {error.response['Error']['Code']}") from error
        end = time.monotonic() + self._within
        waited = 0
        while True:
            with transient("Athena"):
                found = self._client.get_query_execution(QueryExecutionId=execution)["QueryExecution"]["Status"]
            if found["State"] == "SUCCEEDED":
                return execution
            if found["State"] in ("FAILED", "CANCELLED"):
                raise Unreadable(f"Athena: {found['State'].lower()}: {found.get('StateChangeReason', '')[:200]}")
            if time.monotonic() > end:
                self._stop(execution)
                raise Unreadable(f"Athena took longer than {self._within:g} seconds (source_seconds)")
            if self._halted():
                self._stop(execution)
                raise Halted
            self._sleep(_PAUSES[min(waited, len(_PAUSES) - 1)])
            waited += 1

    def _stop(self, execution: str) -> None:
        """Stop the query, so that it causes no further costs."""
        with suppress(Unavailable, ClientError), transient("Athena"):
            self._client.stop_query_execution(QueryExecutionId=execution)

    def _pages(self, execution: str, size: int) -> Iterator[tuple[list[str], list[Row]]]:
        more: dict[str, str] = {}
        first = True
        while True:
            with transient("Athena"):
                page = self._client.get_query_results(QueryExecutionId=execution, MaxResults=size, **more)
            information = page["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
            columns = [str(column["Name"]) for column in information]
            types = [str(column["Type"]) for column in information]
            texts = [[cell.get("VarCharValue") for cell in row["Data"]] for row in page["ResultSet"]["Rows"]]
            if first and texts and texts[0] == columns:
                # The first row of a result is its header.
                texts = texts[1:]
            first = False
            rows = [tuple(_value(text, type_) for text, type_ in zip(row, types, strict=True)) for row in texts]
            if rows:
                yield columns, rows
            if not page.get("NextToken"):
                return
            more = {"NextToken": page["NextToken"]}


def _value(text: str | None, type_: str) -> Any:
    if text is None or type_ == "varchar":
        return text
    if type_ == "boolean":
        return text == "true"
    try:
        if type_ in _WHOLE:
            return int(text)
        return Decimal(text) if type_ in _NUMBERS else text
    except (ValueError, InvalidOperation):
        return text
