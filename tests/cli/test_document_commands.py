"""``tablewright docs``: design documents on standard output and in files."""

from pathlib import Path

from tablewright.design.document import document
from tablewright.design.report import to_markdown
from tests.cli.commands import called, error_line
from tests.design import models


def test_the_command_prints_markdown() -> None:
    done = called("docs", "tests.design.models")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n".join(to_markdown(document(each)) for each in (models.bare, models.design))


def test_the_command_writes_a_file_for_each_design(tmp_path: Path) -> None:
    for extra, names in (([], ["orders-bare.md", "orders.md"]), (["--html"], ["orders-bare.html", "orders.html"])):
        folder = tmp_path / "-".join(["out", *extra])
        done = called("docs", "tests.design.models", "--out", str(folder), *extra)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in folder.iterdir()) == names


def test_usage_errors_are_reported_in_one_line(tmp_path: Path) -> None:
    assert "there is no module 'nowhere'" in error_line("docs", "nowhere")
    assert "write a file for each with --out DIR" in error_line("docs", "tests.design.models", "--html")
    (tmp_path / "file").write_text("")
    outcome = error_line("docs", "tests.design.models", "--out", str(tmp_path / "file"))
    assert "cannot be written: it is a file" in outcome
    assert "two designs would be written to orders-bare.md" in error_line(
        "docs", "tests.design.models", "tests.design.models", "--out", str(tmp_path / "out")
    )
