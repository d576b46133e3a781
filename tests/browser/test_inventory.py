"""A real upload of Flink in a browser, from its checkpoints to a record in flight."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import LOOKS, looking
from tests.conftest import watch_for_errors
from tests.stack import PICTURES

ORDER = "pojo demo.Order"


def test_the_answer_leads_to_the_load_and_to_the_checkpoint(orders, page):
    page.goto(orders.replace("/contents", "/answer"))
    load = page.locator("[data-code=load]")
    expect(load).to_contain_text("Others waited for slow-sink when Flink measured")
    load.get_by_role("link", name="Load of the subtasks").click()
    table = page.get_by_role("table", name="How each subtask spent its time")
    expect(table).to_be_in_viewport()
    expect(table.locator("tbody tr")).to_have_count(10)
    page.locator("[data-code=in-flight]").get_by_role("link", name="Checkpoint 2").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("checkpoint 2")


def test_the_way_leads_from_the_checkpoints_to_a_record_in_flight_and_on(orders, page):
    page.goto(orders)
    rows = page.get_by_role("table", name="All checkpoints of the upload").locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="2", exact=True).focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("checkpoint 2")
    page.get_by_text("further facts").first.click()
    facts = page.locator(".facts-listed").first
    expect(facts).to_contain_text(re.compile(r"last acknowledgement at\s*20\d\d-\d\d-\d\d .* UTC"))
    page.get_by_role("link", name=re.compile(r"^Look inside .*orders.*\[0\] → enrich\[1\]")).click()

    channel = page.locator("#channel")
    expect(channel.get_by_label("Type of its records")).to_have_value(ORDER)
    expect(channel).to_contain_text("the only type of the states of this checkpoint that fits")
    expect(channel.locator("tbody tr").first).to_contain_text('"customer":"c')
    channel.get_by_label("Type of its records").fill("string")
    channel.get_by_role("button", name="Decode").click()
    expect(channel.get_by_role("alert")).to_contain_text("Not every record is a string")
    channel.get_by_role("link", name=ORDER, exact=True).click()
    expect(channel.locator("tbody tr").first).to_contain_text('"customer":"c')

    page.get_by_role("link", name="lastOrder", exact=True).click()
    entries = page.locator("#entries")
    expect(entries.get_by_role("heading", level=2)).to_contain_text("12 entries")
    entries.get_by_label("Key or value").fill("c07")
    entries.get_by_role("button", name="Find").click()
    expect(entries.get_by_role("table", name="Entries").locator("tbody tr")).to_have_count(1)
    entries.get_by_label("What changed since").select_option(label="checkpoint 1")
    entries.get_by_role("button", name="Compare").click()
    expect(entries.locator("#comparison")).to_have_text(
        "From checkpoint 1 to checkpoint 2: 12 changed."
    )

    page.get_by_role("link", name="What changed", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("since checkpoint 1")
    page.go_back()
    page.get_by_role("link", name="Restore plan").click()
    page.get_by_label("Start every operator with").fill("3")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("parallelism=3"))
    expect(page.get_by_role("heading", name="Operators")).to_be_visible()
    page.get_by_label("Start every operator with").fill("many")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("between 1 and")


def test_no_cell_of_a_list_is_wider_than_its_list_on_a_phone(orders, page):
    page.set_viewport_size({"width": 390, "height": 800})
    for address in ("/", orders.replace("/contents", "/checkpoints")):
        page.goto(address)
        cells = page.locator(".list-table td:visible, .list-table tbody th:visible")
        assert cells.count() > 5
        wide = cells.evaluate_all("""cells => cells.filter((it) => {
          const [own, list] = [it, it.closest("table")].map((each) => each.getBoundingClientRect());
          return own.right > list.right + 1 || it.scrollWidth > it.clientWidth + 1;
        }).map((it) => it.textContent.trim())""")
        assert wide == [], address


def test_the_workbench_distinguishes_not_known_from_empty(orders, page):
    recording = orders.removesuffix("/contents")
    page.goto(f"{recording}?snapshot=2")
    expect(page.locator("#wb-verdict")).to_contain_text("Not judged: the recording is derived")
    expect(page.locator("#wb-verdict")).not_to_contain_text("{")
    page.get_by_label("only non-empty").uncheck()
    row = page.locator("#wb-contents-list li").filter(has_text="rules[0]->apply-rules[0]")
    expect(row.locator("[data-role=now]")).to_have_text("not known")
    expect(row.locator("[data-role=recorded]")).to_have_text("known to be empty")
    page.get_by_label("only non-empty").check()
    page.get_by_label("Filter channels").fill("no such channel")
    expect(page.locator("#wb-contents-notice")).to_have_text("No channel has this name.")


def test_the_maps_are_opened_with_keys(orders, page):
    page.goto(f"{orders}/1/bytes")
    for name, inside in (("stored", "keyed state"), ("entries", "amountByProduct")):
        sectors = page.locator(f"[data-map={name}]")
        expect(sectors).to_contain_text("apply-rules")
        parts = sectors.locator("xpath=..").get_by_role("combobox")
        parts.focus()
        page.keyboard.type("enrich")
        expect(sectors).not_to_contain_text("apply-rules")
        expect(sectors).to_contain_text(inside)
        page.keyboard.press("Home")
        expect(sectors).to_contain_text("apply-rules")


def test_a_click_opens_an_operator_of_the_maps(orders, page):
    page.goto(f"{orders}/1/bytes")
    for name, inside in (("stored", "keyed state"), ("entries", "amountByProduct")):
        sectors = page.locator(f"[data-map={name}]")
        expect(sectors.locator(".slicetext").first).to_be_visible(timeout=60_000)
        sectors.locator("g.slice").filter(has_text="enrich").first.click(position={"x": 5, "y": 5})
        expect(sectors).not_to_contain_text("apply-rules")
        expect(sectors).to_contain_text(inside)
        parts = sectors.locator("xpath=..").get_by_role("combobox")
        expect(parts.locator("option:checked")).to_have_text(re.compile("^enrich"))
        sectors.locator(".pathbar").click()
        expect(sectors).to_contain_text("apply-rules")
        expect(parts.locator("option:checked")).to_have_text("all")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_every_inventory_page_is_pictured(orders, browser, stack, signed_in_state, scheme, width):
    with looking(browser, stack.url, signed_in_state, (scheme, width)) as page:
        errors = watch_for_errors(page)
        page.goto(f"{orders}/1")
        within = {
            "inventory-channel": named(
                page, re.compile(r"^Look inside .*orders.*\[0\] → enrich\[1\]")
            ),
            "inventory-entries": named(page, "lastOrder").replace("#", "&with=0#"),
        }
        addresses = {
            "answer": orders.replace("/contents", "/answer"),
            "inventory": orders,
            "inventory-checkpoint": f"{orders}/1",
            **{name: f"{orders}/1{place}" for name, place in within.items()},
            "inventory-bytes": f"{orders}/1/bytes",
            "inventory-difference": f"{orders}/1/difference",
            "restore-plan": f"{orders}/1/restore-plan?parallelism=3",
            "mappings": "/mappings",
        }
        for name, address in addresses.items():
            answer = page.goto(address)
            assert answer is None or answer.ok, address
            page.evaluate("document.fonts.ready")
            expect(page.locator("[data-map] .reserve")).to_have_count(0)
            wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wider <= 0, f"{name} is {wider} px too wide at {width}"
            page.screenshot(path=PICTURES / f"{name}-{scheme}-{width}.png")
    assert not errors, errors


def named(page, name) -> str:
    """Return the query and the anchor of a link."""
    address = page.get_by_role("link", name=name).first.get_attribute("href")
    return address[address.index("?") :]
