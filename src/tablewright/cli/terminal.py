"""Reports of the design tools on a terminal, with rich."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from tablewright.cli.argument_parser import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text as Styled

    from tablewright.design.report import Block, DesignReport


def show(page: DesignReport) -> None:
    """Print a report."""
    screen = console()
    screen.print(page.title, style="bold")
    for block in page.blocks:
        _show(screen, block)


def console() -> Console:
    try:
        from rich.console import Console
    except ImportError:
        raise UsageError("printing tables needs rich: pip install 'tablewright[design]', or use --json") from None

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            """Left to ``main``, as for all other output; rich would exit with 1, which means findings."""
            raise BrokenPipeError

    # A file or a pipe has no width.
    return Screen(highlight=False, width=None if sys.stdout.isatty() else 200)


def _show(console: Console, block: Block) -> None:
    from rich.table import Table

    from tablewright.design import report

    match block:
        case report.Heading(text):
            console.print()
            console.print(_styled(text), style="bold")
        case report.Text(text):
            console.print(_styled(text))
        case report.Bullets(items):
            for item in items:
                console.print("-", _styled(item))
        case report.Grid():
            table = Table()
            for column in block.columns:
                table.add_column(column.strip(), justify="right" if column in block.right else "left")
            for row in block.rows:
                table.add_row(*map(_styled, row))
            console.print(table)
        case report.Code(text):
            console.print(text, markup=False)
        case report.Diagram() | report.Drawing():
            # For documents and pages; a table has the same.
            pass


def _styled(text: str) -> Styled:
    """Text with `code` highlighted."""
    from rich.text import Text as Styled

    styled = Styled()
    for position, part in enumerate(re.split("`([^`]*)`", text)):
        styled.append(part, style="cyan" if position % 2 else "")
    return styled
