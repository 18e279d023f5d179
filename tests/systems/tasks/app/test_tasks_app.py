"""The screens of Tasks, as a team uses them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.ui.screen_browser import DESK, PHONE, Screens, also_on_an_endpoint, overflow, serious_problems
from tests.ui.unique_names import unique_text

pytestmark = pytest.mark.requirement("AP8")


def lane(page: Page, status: str) -> str:
    return f".tw-lane[data-lane={status}]"


def create(page: Page, title: str, priority: str = "HIGH") -> None:
    page.keyboard.press("n")
    page.fill("[role=dialog] input[name=title]", title)
    page.fill("[role=dialog] textarea[name=description]", "What is to be done.")
    page.select_option("[role=dialog] select", priority)
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog]", state="detached")


def drag(page: Page, title: str, status: str) -> None:
    page.drag_and_drop(f".tw-tile:has-text('{title}')", lane(page, status))


@also_on_an_endpoint
def test_a_task_from_its_creation_to_its_end(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("Rotate the keys")
    create(page, title)
    expect(page.locator(f"{lane(page, 'OPEN')} .tw-tile:has-text('{title}')")).to_be_visible()
    page.click(f".tw-tile:has-text('{title}')")
    page.select_option(".tw-drawer select", "grace")
    page.wait_for_selector(".tw-drawer .tw-avatar[title=grace]")
    page.click(".tw-drawer button:has-text('Start')")
    page.wait_for_selector(f"{lane(page, 'IN_PROGRESS')} .tw-tile:has-text('{title}')")
    page.click(".tw-drawer button:has-text('Complete')")
    page.wait_for_selector(f"{lane(page, 'COMPLETED')} .tw-tile:has-text('{title}')")
    # There is no way back from here, so it is asked.
    page.click(".tw-drawer button:has-text('Close')")
    page.click("[role=alertdialog] button:has-text('Close')")
    page.wait_for_selector(f"{lane(page, 'CLOSED')} .tw-tile:has-text('{title}')")
    activity = page.inner_text(".tw-drawer")
    assert "ada assigned it to grace" in activity
    assert "ada: in progress → completed" in activity


@also_on_an_endpoint
def test_two_browsers_see_each_other(screens: Screens) -> None:
    ada, grace = screens.sign_in("ada", "/tasks"), screens.sign_in("grace", "/tasks/list?status=OPEN")
    title = unique_text("Seen at once")
    create(ada, title)
    expect(grace.locator(f".tw-item:has-text('{title}')")).to_be_visible()
    drag(ada, title, "IN_PROGRESS")
    expect(grace.locator(f".tw-item:has-text('{title}')")).to_have_count(0)


@also_on_an_endpoint
def test_a_card_is_dragged_and_the_move_is_undone(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("Drag me")
    create(page, title)
    drag(page, title, "IN_PROGRESS")
    page.wait_for_selector(f"{lane(page, 'IN_PROGRESS')} .tw-tile:has-text('{title}')")
    page.click(f".tw-toast:has-text('{title}') .tw-toast-undo")
    page.wait_for_selector(f"{lane(page, 'OPEN')} .tw-tile:has-text('{title}')")


@pytest.mark.slow
@also_on_an_endpoint
def test_dropping_a_card_that_another_user_moved_is_refused_with_a_message(screens: Screens) -> None:
    ada = screens.sign_in("ada", "/tasks")
    title = unique_text("Whose is it")
    create(ada, title)
    other = screens.sign_in("admin", "/tasks")
    # Ada has taken the card when it is moved by somebody else, and drops it after that.
    ada.hover(f".tw-tile:has-text('{title}')")
    ada.mouse.down()
    ada.hover(lane(ada, "CLOSED"))
    drag(other, title, "IN_PROGRESS")
    ada.wait_for_selector(f"{lane(ada, 'IN_PROGRESS')} .tw-tile:has-text('{title}')")
    ada.hover(f"{lane(ada, 'CLOSED')} .tw-lane-head")
    ada.mouse.up()
    ada.wait_for_selector(f".tw-toast-bad:has-text('{title}” was not moved: admin changed it meanwhile')")
    expect(ada.locator("[role=alertdialog]")).to_have_count(0)
    expect(ada.locator(f"{lane(ada, 'IN_PROGRESS')} .tw-tile:has-text('{title}')")).to_have_count(1)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_lane_that_cannot_follow_takes_no_card(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("Not so fast")
    create(page, title)
    drag(page, title, "COMPLETED")
    page.wait_for_timeout(300)
    expect(page.locator(f"{lane(page, 'OPEN')} .tw-tile:has-text('{title}')")).to_have_count(1)


@also_on_an_endpoint
def test_members_see_all_and_move_their_own(screens: Screens) -> None:
    page = screens.sign_in("grace", "/tasks")
    expect(page.locator("text=New task")).to_have_count(0)
    expect(page.locator(".tw-tab:has-text('People')")).to_have_count(0)
    own, other = (page.locator(f".tw-tile:has-text('{title}')") for title in ("Deploy the new", "Write the release"))
    expect(own).to_have_attribute("draggable", "true")
    expect(other).to_have_attribute("draggable", "false")
    other.click()
    page.wait_for_selector(".tw-drawer h2")
    expect(page.locator(".tw-drawer button:has-text('Start')")).to_have_count(0)
    # Not by its address either.
    page.goto("/app/tasks/people")
    page.wait_for_selector("text=You do not have access to this page")


@pytest.mark.slow
@also_on_an_endpoint
def test_mine_are_those_that_are_assigned_to_me(screens: Screens) -> None:
    page = screens.sign_in("linus", "/tasks/mine")
    expect(page.locator(".tw-item").first).to_be_visible()
    expect(page.locator(".tw-item:has-text('Deploy the new release')")).to_have_count(1)
    expect(page.locator(".tw-item:has-text('Write the release notes')")).to_have_count(0)


@pytest.mark.slow
@also_on_an_endpoint
def test_a_task_opens_beside_the_list_and_has_an_address(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks/list")
    page.click(".tw-item:has-text('Write the release notes')")
    page.wait_for_selector("h2:has-text('Write the release notes')")
    address = page.url
    expect(page.locator(".tw-item[aria-current]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.wait_for_selector("text=Choose a task")
    page.go_back()
    page.wait_for_selector("h2:has-text('Write the release notes')")
    other = screens.sign_in("grace", "/")
    other.goto(address)
    other.wait_for_selector("h2:has-text('Write the release notes')")


@pytest.mark.slow
@also_on_an_endpoint
def test_people_are_added_changed_deactivated_and_back(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks/people")
    name = f"joan-{uuid4().hex[:6]}"
    page.click("button:has-text('New person')")
    page.fill("[role=dialog] input[name=userId]", name)
    page.fill("[role=dialog] input[name=email]", "not an address")
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog] .tw-invalid .tw-field-error")
    page.fill("[role=dialog] input[name=email]", "joan@example.org")
    page.click("[role=dialog] [data-submit]")
    row = page.locator(f"tr:has-text('{name}')")
    row.get_by_role("button", name="Edit").click()
    page.click("[role=dialog] button:has-text('Admin')")
    page.click("[role=dialog] [data-submit]")
    expect(row).to_contain_text("Admin")
    row.get_by_role("button", name="Deactivate").click()
    expect(row).to_have_count(0)
    page.click(f".tw-toast:has-text('{name}') .tw-toast-undo")
    expect(row).to_have_count(1)


@pytest.mark.parametrize(
    "size", [pytest.param(DESK, id="desk", marks=pytest.mark.slow), pytest.param(PHONE, id="phone")]
)
def test_every_view_is_accessible_and_fits(screens: Screens, size: dict[str, int]) -> None:
    page = screens.sign_in("ada", "/tasks", viewport=size)
    for view in ("board", "list", "mine", "people"):
        page.goto(f"/app/tasks/{view}")
        page.wait_for_selector("#tw-content > *")
        assert (view, overflow(page), serious_problems(page)) == (view, 0, [])


@pytest.mark.slow
@also_on_an_endpoint
def test_values_that_are_html_or_right_to_left_are_text(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("<img src=x onerror=alert(1)> שלום {{7*7}}")
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    create(page, title)
    page.wait_for_selector(".tw-tile:has-text('onerror')")
    page.click(".tw-tile:has-text('onerror')")
    page.wait_for_selector(".tw-drawer h2:has-text('{{7*7}}')")
    expect(page.locator("img[src=x]")).to_have_count(0)


@pytest.mark.slow
@also_on_an_endpoint
def test_the_start_page_shows_pending_work_live(screens: Screens) -> None:
    grace, ada = screens.sign_in("grace", "/"), screens.sign_in("ada", "/tasks")
    title = unique_text("For Grace")
    before = int(grace.inner_text(".tw-card .tw-pill"))
    create(ada, title)
    ada.click(f".tw-tile:has-text('{title}')")
    ada.select_option(".tw-drawer select", "grace")
    expect(grace.locator(".tw-card .tw-pill").first).to_have_text(str(before + 1))


def test_the_screens_speak_italian(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks", locale="it-IT")
    page.wait_for_selector("button:has-text('Nuova attività')")
    expect(page.locator("html")).to_have_attribute("lang", "it")
    page.click("summary[aria-label='Il tuo account']")
    page.click("text=English")
    page.wait_for_selector("button:has-text('New task')")


@pytest.mark.slow
@also_on_an_endpoint
def test_new_comments_arrive_without_losing_a_draft(screens: Screens) -> None:
    ada = screens.sign_in("ada", "/tasks")
    title = unique_text("Talk about it")
    create(ada, title)
    ada.click(f".tw-tile:has-text('{title}')")
    ada.wait_for_selector(".tw-drawer h2")
    grace = screens.sign_in("grace", "/")
    grace.goto(ada.url)
    grace.fill(".tw-drawer textarea", "half of a")
    ada.fill(".tw-drawer textarea", "What do you <b>think</b>?")
    ada.keyboard.press("Control+Enter")
    expect(grace.locator(".tw-message:has-text('What do you <b>think</b>?')")).to_be_visible()
    # What she is writing is still there.
    expect(grace.locator(".tw-drawer textarea")).to_have_value("half of a")
    grace.fill(".tw-drawer textarea", "Good")
    grace.click(".tw-drawer button:has-text('Comment')")
    expect(ada.locator(".tw-message:has-text('Good')")).to_be_visible()
    expect(grace.locator(".tw-message-mine")).to_have_count(1)
    expect(grace.locator(".tw-drawer textarea")).to_have_value("")


@also_on_an_endpoint
def test_a_file_is_added_read_and_deleted(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("With a file")
    create(page, title)
    page.click(f".tw-tile:has-text('{title}')")
    with page.expect_file_chooser() as chooser:
        page.click("button:has-text('Add a file')")
    chooser.value.set_files({"name": "plan.html", "mimeType": "text/html", "buffer": b"<script>alert(1)</script>"})
    page.wait_for_selector(".tw-drawer >> text=plan.html")
    with page.expect_download() as download:
        page.click(".tw-drawer button[title='plan.html']")
    assert download.value.path().read_bytes() == b"<script>alert(1)</script>"
    page.get_by_role("button", name="Delete plan.html").click()
    page.click("[role=alertdialog] button:has-text('Delete')")
    expect(page.locator(".tw-drawer button[title='plan.html']")).to_have_count(0)
    expect(page.locator(".tw-drawer")).to_contain_text("ada attached plan.html")


@pytest.mark.slow
@also_on_an_endpoint
def test_a_due_date_is_set_shown_and_taken_away(screens: Screens) -> None:
    page = screens.sign_in("ada", "/tasks")
    title = unique_text("By the end of 2020")
    create(page, title)
    page.click(f".tw-tile:has-text('{title}')")
    page.get_by_role("button", name="Edit").click()
    page.fill("[role=dialog] input[name=due]", "2020-12-31")
    page.click("[role=dialog] [data-submit]")
    tile = page.locator(f".tw-tile:has-text('{title}')")
    expect(tile).to_contain_text("overdue since 31 Dec 2020")
    page.get_by_role("button", name="Edit").click()
    page.fill("[role=dialog] input[name=due]", "")
    page.click("[role=dialog] [data-submit]")
    expect(tile).not_to_contain_text("overdue")


@also_on_an_endpoint
def test_a_conflicting_edit_is_refused_and_its_input_kept(screens: Screens) -> None:
    page, other = screens.sign_in("ada", "/tasks"), screens.sign_in("admin", "/tasks")
    title = unique_text("Edited twice")
    create(page, title)
    for each in (page, other):
        each.click(f".tw-tile:has-text('{title}')")
        each.get_by_role("button", name="Edit").click()
    page.fill("[role=dialog] textarea[name=description]", "by Ada")
    other.fill("[role=dialog] textarea[name=description]", "by the admin")
    other.click("[role=dialog] [data-submit]")
    other.wait_for_selector("[role=dialog]", state="detached")
    page.click("[role=dialog] [data-submit]")
    page.wait_for_selector("[role=dialog] .tw-banner-bad:has-text('Someone else changed it meanwhile')")
    expect(page.locator("[role=dialog] textarea[name=description]")).to_have_value("by Ada")
