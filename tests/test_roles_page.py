"""docs/roles.md is the matrix that the code declares."""

from tools import roles_page


def test_the_page_is_up_to_date() -> None:
    assert roles_page.PAGE.read_text("utf-8") == roles_page.render(), "run `make docs`"
