"""The studio in a browser, story by story."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from moto.server import ThreadedMotoServer
from playwright.sync_api import Dialog, expect

from tablewright.engine import Engine
from tablewright.store import EndpointBackend, Request
from tablewright.wire import serve_in_thread
from tests.studio.studio_browser import RunningStudio, odd_requests, studio
from tests.ui.screen_browser import PHONE, overflow, serious_problems


@pytest.mark.requirement("ST1")
def test_a_user_views_the_tables_and_turns_recovery_on(desk: RunningStudio) -> None:
    page = desk.open()
    expect(page).to_have_url(f"{desk.screens.url}/studio/")
    page.get_by_role("link", name="TaskManagement").first.click()
    expect(page.get_by_role("heading", name="TaskManagement")).to_be_visible()
    expect(page.locator(".st-places")).to_contain_text("Task.by_status")
    expect(page.locator(".tw-facts")).to_contain_text("on demand")
    page.get_by_role("button", name="Start metering").click()
    expect(page.locator(".st-figures")).to_contain_text("0 / 0")
    page.locator("summary[aria-label='Change']").click()
    page.get_by_role("button", name="Turn recovery on").click()
    dialog = page.get_by_role("dialog", name="UpdateContinuousBackups")
    expect(dialog).to_contain_text('"PointInTimeRecoveryEnabled": true')
    dialog.get_by_role("button", name="Change").click()
    expect(page.locator(".tw-facts dd").nth(5)).to_have_text("on")
    page.goto("/studio/writes")
    expect(page.locator("tbody tr").first).to_contain_text("UpdateContinuousBackups")
    assert serious_problems(page) == []


@pytest.mark.requirement("ST1")
@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_tables_fit_a_phone_and_hold_for_everybody(desk: RunningStudio, theme: str) -> None:
    page = desk.open("/tables", viewport=PHONE, color_scheme=theme)
    expect(page.get_by_role("link", name="odd", exact=True)).to_be_visible()
    assert overflow(page) <= 0
    assert serious_problems(page) == []
    page.set_viewport_size({"width": 1440, "height": 860})
    page.goto("/studio/tables/TaskManagement")
    expect(page.get_by_role("heading", name="TaskManagement")).to_be_visible()
    assert serious_problems(page) == []


@pytest.mark.requirement("ST2")
def test_a_user_finds_a_task_changes_it_and_sees_the_request(desk: RunningStudio) -> None:
    page = desk.open("/items/TaskManagement?entity=Task")
    verdict = page.locator(".st-verdict")
    expect(verdict).to_contain_text("Scan")
    page.get_by_label("Conditions").fill('GSI2PK = "STATUS#OPEN"')
    expect(verdict).to_contain_text("Query · GSI2-TaskStatusIndex")
    page.get_by_label("Conditions").press("Enter")
    expect(page.locator(".st-table tbody tr")).to_have_count(5)
    page.get_by_role("link", name="TASK#t-4").click()
    panel = page.locator(".st-item-panel")
    expect(panel).to_contain_text("Order part 4")
    expect(panel.get_by_role("link", name="Task.by_id")).to_be_visible()
    page.keyboard.press("e")
    panel.get_by_label("Title", exact=True).fill("Order part 4, twice")
    panel.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="UpdateItem")
    expect(dialog).to_contain_text("Order part 4, twice")
    page.keyboard.press("Control+Enter")
    expect(panel.locator(".st-attributes")).to_contain_text("Order part 4, twice")
    assert serious_problems(page) == []
    # Every state has an address.
    page.goto(page.url)
    expect(panel.locator(".st-attributes")).to_contain_text("Order part 4, twice")


@pytest.mark.slow
@pytest.mark.requirement("ST2")
def test_odd_values_are_shown_as_what_they_are(desk: RunningStudio) -> None:
    page = desk.open("/items/odd")
    said: list[str] = []

    def noted(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", noted)
    panel = page.locator(".st-item-panel")
    page.get_by_role("link", name="<img src=x").click()
    expect(panel).to_contain_text("<b>bold</b>")
    page.get_by_role("link", name="numbers").click()
    expect(panel).to_contain_text("12345678901234567890123456789012345678")
    page.get_by_role("link", name="large").click()
    expect(panel).to_contain_text("bytes more")
    page.get_by_role("link", name="deep").click()
    expect(panel.locator("details")).to_have_count(31)
    page.get_by_role("link", name="sets").click()
    expect(panel).to_contain_text("colours")
    page.keyboard.press("e")
    expect(panel.get_by_label("Type of colours")).to_have_value("SS")
    expect(panel.get_by_label("colours[1]", exact=True)).to_have_value("red")
    panel.get_by_role("button", name="Add to colours").click()
    panel.get_by_label("colours[2]", exact=True).fill("green")
    panel.get_by_role("button", name="Remove colours[0]").click()
    expect(panel.get_by_label("colours[1]", exact=True)).to_have_value("green")
    panel.get_by_role("button", name="Move list[0] down").click()
    expect(panel.get_by_label("list[0]", exact=True)).to_have_value("1")
    panel.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="UpdateItem")
    expect(dialog).to_contain_text('"green"')
    dialog.get_by_role("button", name="Send").click()
    expect(panel.locator(".st-attributes")).to_contain_text("green")
    expect(panel.locator(".st-attributes")).not_to_contain_text("blue")
    assert said == [], "nothing of what is shown has run"
    # One change of all: what was changed meanwhile is refused, and stays chosen.
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Set an attribute of 6 items").click()
    dialog = page.get_by_role("dialog", name="Set an attribute of 6 items")
    dialog.get_by_label("Name", exact=True).fill("it's seen")
    dialog.get_by_label("Type of Value").select_option("BOOL")
    # Until then, the value is that of a text.
    dialog.locator('select[aria-label="Value"]').select_option("true")
    dialog.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="UpdateItem")
    expect(dialog).to_contain_text("These 6 UpdateItem requests")
    console = page.context.new_page()
    console.goto(f"{desk.screens.url}/studio/console")
    statement = "UPDATE odd SET \"it's seen\" = 'first' WHERE pk = 'sets' AND n = 6"
    console.get_by_label("Request", exact=True).fill(statement)
    console.get_by_role("button", name="Send").click()
    console.get_by_role("dialog").get_by_role("button", name="Send").click()
    expect(console.locator(".st-code")).to_contain_text("ConsumedCapacity")
    dialog.get_by_role("button", name="Send").click()
    expect(page.locator(".st-foot")).to_contain_text("1 item was not changed")
    expect(page.locator(".st-foot")).to_contain_text("sets · 6: it was changed meanwhile")
    expect(page.get_by_role("checkbox", name="Choose sets")).to_be_checked()
    page.get_by_role("checkbox", name="Choose sets").uncheck()
    page.get_by_role("checkbox", name="Choose binary").check()
    page.get_by_role("button", name="Delete 1 item").click()
    page.get_by_role("dialog", name="Delete 1 item?").get_by_role("button", name="Delete 1 item").click()
    expect(page.get_by_role("link", name="binary")).to_have_count(0)


@pytest.mark.requirement("ST3")
def test_the_picture_shows_partitions_of_items_and_of_samples(desk: RunningStudio) -> None:
    page = desk.open("/picture/TaskManagement")
    block = page.locator(".st-block", has_text="TASK#t-3")
    expect(block).to_contain_text("METADATA")
    expect(block.locator(".tw-pill")).to_have_text("Task")
    page.get_by_label("Index").select_option("GSI2-TaskStatusIndex")
    expect(page.locator(".st-block", has_text="STATUS#OPEN").locator(".st-block-item")).to_have_count(5)
    page.get_by_role("button", name="Samples of the design").click()
    expect(page.locator(".st-blocks")).to_contain_text("task-1")
    assert serious_problems(page) == []
    page.goto("/studio/picture/odd")
    page.locator(".st-block", has_text="large").locator(".st-block-item").click()
    expect(page.locator(".st-attributes")).to_be_visible()


@pytest.mark.requirement("ST4")
def test_a_user_runs_a_pattern(desk: RunningStudio) -> None:
    page = desk.open("/patterns")
    page.get_by_role("link", name="Task.by_status").click()
    page.get_by_label("status").select_option("COMPLETED")
    page.get_by_role("button", name="Run").click()
    result = page.locator(".tw-thing-body")
    expect(result).to_contain_text("Query on GSI2-TaskStatusIndex where GSI2PK")
    expect(result).to_contain_text("planned")
    expect(result.locator("tbody tr")).to_have_count(2)
    expect(result).to_contain_text("store.query(Task.by_status(status=Status.COMPLETED), limit=25)")
    assert serious_problems(page) == []


@pytest.mark.requirement("ST4")
def test_a_user_makes_a_declared_write_and_sees_its_request(desk: RunningStudio) -> None:
    page = desk.open("/patterns/Tasks/update%20Task?0.key.task_id=t-5")
    page.get_by_label("title", exact=True).fill("Order part 5, <b>twice</b>")
    page.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="update Task")
    expect(dialog).to_contain_text("UpdateExpression")
    dialog.get_by_role("button", name="Send").click()
    result = page.locator(".tw-thing-body")
    expect(result).to_contain_text("store.update(Task.by_id(task_id='t-5'), attr(Task.title).set(")
    expect(dialog).to_have_count(0)
    page.goto("/studio/writes")
    expect(page.locator("tbody tr").first).to_contain_text("update Task")


@pytest.mark.slow
@pytest.mark.requirement("ST9")
def test_a_user_views_the_design_and_downloads_files(desk: RunningStudio) -> None:
    page = desk.open("/design/Tasks")
    expect(page.get_by_role("button", name="Findings")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Files").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download Terraform").click()
    assert download.value.suggested_filename == "tasks.tf.json"
    with page.expect_download() as download:
        page.get_by_role("button", name="Download maintenance").click()
    assert download.value.suggested_filename == "tasks.maintenance.policy.json"
    page.get_by_role("button", name="Document").click()
    expect(page.locator(".st-document svg").first).to_be_visible()
    assert serious_problems(page) == []


def endpoint_with_odd_values(kind: str, stack: ExitStack) -> str:
    """An endpoint with the table of odd values: our server, or moto's."""
    if kind == "moto":
        server = ThreadedMotoServer(port=0, verbose=False)
        server.start()
        stack.callback(server.stop)
        _, port = server.get_host_and_port()
        url = f"http://127.0.0.1:{port}"
    else:
        engine = stack.enter_context(Engine.open(None))
        url = stack.enter_context(serve_in_thread(engine))
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    backend = EndpointBackend("us-east-1", url, keys)
    stack.callback(backend.close)
    for operation, body in odd_requests():
        backend.call(Request(operation, body))
    return url


@pytest.mark.slow
@pytest.mark.requirement("ST2")
@pytest.mark.parametrize("kind", ["our server", "moto"])
def test_it_is_the_same_on_an_endpoint_until_the_table_is_deleted_under_it(kind: str) -> None:
    with ExitStack() as stack:
        url = endpoint_with_odd_values(kind, stack)
        page = stack.enter_context(studio(url)).open("/items/odd")
        expect(page.locator(".tw-top")).to_contain_text("read-only")
        expect(page.get_by_role("button", name="New item")).to_have_count(0)
        page.get_by_label("Conditions").fill("pk = sets")
        page.get_by_label("Conditions").press("Enter")
        expect(page.locator(".st-table tbody tr")).to_have_count(1)
        page.get_by_role("link", name="sets").click()
        expect(page.locator(".st-attributes")).to_contain_text("colours")
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        EndpointBackend("us-east-1", url, keys).call(Request("DeleteTable", {"TableName": "odd"}))
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#tw-content")).to_contain_text("not found")
        page.goto("/studio/tables/odd")
        expect(page.get_by_role("alert")).to_contain_text("not found")
