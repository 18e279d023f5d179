"""Rows as an Excel file: one sheet, written incrementally, so that memory does not grow with it.

An .xlsx file is a ZIP archive of XML documents (ECMA-376). This writes the few that a sheet needs: text, numbers,
booleans and times. A number that Excel would round (it keeps 15 digits) is text, and so is everything else; text is
never a formula, whatever it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

__all__ = ["MOST_ROWS", "write_workbook"]

MOST_ROWS = 1_048_576
_MOST_CHARACTERS = 32_767
_EXACT_DIGITS = 15
_EPOCH = datetime(1899, 12, 30)
_FETCHED_AT_ONCE = 1000
# What XML 1.0 cannot hold.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEETML = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEETML}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEETML}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_SHEETML}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="Result" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_OFFICE}/styles" '
    'Target="styles.xml"/></Relationships>',
    # Styles: 0 plain, 1 bold, 2 a time, 3 a date.
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" '
    'formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="4"><xf/><xf fontId="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/>'
    '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
}


class _Cursor(Protocol):
    @property
    def description(self) -> Any: ...

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]: ...


def write_workbook(cursor: _Cursor, path: Path) -> int:
    """Write the rows of a cursor; returns their number. A sheet has at most ``MOST_ROWS``, including its header."""
    rows = 0
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in _PARTS.items():
            archive.writestr(name, _HEAD + content)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(
                f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
                '<pane ySplit="1" topLeftCell="A2" state="frozen"/></sheetView></sheetViews><sheetData>'.encode()
            )
            sheet.write(_row((name for name, *_ in cursor.description or ()), style=1))
            for row in _rows(cursor):
                if rows == MOST_ROWS - 1:
                    raise ValueError(f"an Excel sheet has at most {MOST_ROWS:,} rows; export to .csv or .parquet")
                sheet.write(_row(row))
                rows += 1
            sheet.write(b"</sheetData></worksheet>")
    return rows


def _rows(cursor: _Cursor) -> Iterator[tuple[Any, ...]]:
    while some := cursor.fetchmany(_FETCHED_AT_ONCE):
        yield from some


def _row(values: Iterable[Any], style: int = 0) -> bytes:
    return f"<row>{''.join(_cell(value, style) for value in values)}</row>".encode()


def _cell(value: Any, style: int) -> str:
    match value:
        case None:
            return "<c/>"
        case bool():
            return f'<c t="b"><v>{int(value)}</v></c>'
        case int() | float() | Decimal() if _is_exact(value):
            return f"<c><v>{value}</v></c>"
        case datetime():
            return f'<c s="2"><v>{_days(value.replace(tzinfo=None))}</v></c>'
        case date():
            return f'<c s="3"><v>{_days(datetime.combine(value, time()))}</v></c>'
        case bytes():
            value = value.hex()
    shown = f' s="{style}"' if style else ""
    text = _INVALID.sub("\ufffd", str(value)[:_MOST_CHARACTERS])
    return f'<c t="inlineStr"{shown}><is><t xml:space="preserve">{escape(text)}</t></is></c>'


def _is_exact(value: float | Decimal) -> bool:
    if isinstance(value, float):
        return value - value == 0.0
    digits = str(abs(value)).replace(".", "")
    return digits.isdigit() and len(digits.strip("0")) <= _EXACT_DIGITS


def _days(at: datetime) -> float:
    return (at - _EPOCH) / timedelta(days=1)
