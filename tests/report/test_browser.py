"""The report in a real browser: it opens from file, asks nobody, tells on hover and click, runs no name as script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from planted_paper import hostile as hostile_paper
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from seamripper.papers.page import save
from seamripper.report import report

pytestmark = pytest.mark.browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


SMALLEST = """return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().width &&
    [...e.childNodes].some(c => c.nodeType === 3 && c.textContent.trim())).map(e => {
        const svg = e.ownerSVGElement, scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
        return [scale * parseFloat(getComputedStyle(e).fontSize), e.textContent.slice(0, 40)];
    }).sort((a, b) => a[0] - b[0])[0]"""
"""The size in pixels of the smallest text that is seen, and that text."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


def opened(browser: webdriver.Chrome, store: Path, *, width: int = 1280, height: int = 900) -> Path:
    """Write the report, open it from file, and wait until its script has run."""
    return looked_at(browser, report(store), width=width, height=height)


def looked_at(browser: webdriver.Chrome, path: Path, *, width: int = 1280, height: int = 900) -> Path:
    """Open a page from file, and wait until its script has run."""
    browser.set_window_size(width, height)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.resolve().as_uri())
    assert browser.execute_script("return document.documentElement.dataset.ready") == "yes"
    return path


def asked(browser: webdriver.Chrome) -> list[str]:
    """Every address that the page has asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def one(browser: webdriver.Chrome, selector: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, selector)


def all_of(browser: webdriver.Chrome, selector: str) -> list[Any]:
    return browser.find_elements(By.CSS_SELECTOR, selector)


def hovered(browser: webdriver.Chrome, mark: Any) -> str:
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    told = one(browser, "#told")
    # Scrolling itself hides what was told, a moment later: then a person moves the pointer a bit more.
    for _ in range(300):
        ActionChains(browser).move_to_element(mark).move_by_offset(1, 0).perform()
        time.sleep(0.1)
        if told.is_displayed():
            return str(told.text)
    pytest.fail("nothing was told")


def test_it_opens_from_file_without_an_error_or_a_request(browser: webdriver.Chrome, study: Path) -> None:
    path = opened(browser, study)
    assert browser.get_log("browser") == []
    outside = [address for address in asked(browser) if not address.startswith("data:")]
    assert outside == [path.resolve().as_uri()]


def test_a_request_would_have_been_seen(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """The planted failure: a page that asks for something, and has an error."""
    (tmp_path / "bad.html").write_text("<img src='http://127.0.0.1:9/x.png'><script>undefined_thing()</script>")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get((tmp_path / "bad.html").as_uri())
    requests, errors = set[str](), list[str]()
    end = time.monotonic() + 120
    # What was read of a log is not in it any more.
    while "http://127.0.0.1:9/x.png" not in requests or not any("undefined_thing" in error for error in errors):
        assert time.monotonic() < end, (requests, errors)
        requests |= set(asked(browser))
        errors += [entry["message"] for entry in browser.get_log("browser")]


def test_the_first_screen_has_question_verdict_figures_and_doubt(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    assert one(browser, "h1").text == "Do “colour” and “digit” represent the same thing at layer2?"
    verdict, doubt = one(browser, "#verdict"), one(browser, "#doubt")
    assert verdict.text in (
        "Different information.",
        "Interchangeable here, information unknown.",
        "Interchangeable, but so is noise: no evidence of similarity.",
        "Not stitchable by this stitch: no conclusion.",
    )
    assert doubt.text.startswith("The strongest reason to doubt it: ")
    figures = all_of(browser, ".headline dd")
    assert len(figures) == 3
    assert all(" [" in figure.text and "n = " in figure.text for figure in figures)
    for element in (verdict, doubt, figures[-1]):
        assert element.location["y"] + element.size["height"] < 900, "on the first screen"


def test_the_sections_stand_in_the_order_of_the_story(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    names = [section.get_attribute("id") for section in all_of(browser, "main > section")]
    assert names == [
        *("judgements", "accuracy", "rank", "matrices", "distribution", "controls", "conflict", "mixing"),
        *("losses", "pictures", "table", "methods", "provenance"),
    ]
    assert len(all_of(browser, "#conflict img")) == 12
    assert all(image.get_attribute("naturalWidth") == "28" for image in all_of(browser, "#conflict img"))
    assert len(all_of(browser, "#accuracy .wide polyline[stroke-dasharray]")) == 2, "one for each matching"
    rows = [[row.text for row in figure.find_elements(By.CSS_SELECTOR, ".row .name")]
            for figure in all_of(browser, "#pictures figure")]  # fmt: skip
    assert rows == [["input", "sender itself", "receiver itself", "stitched"], ["input", "stitched"]]
    assert len(all_of(browser, "#pictures img")) == 6 * 6


def test_hovering_tells_value_n_and_interval(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    told = hovered(browser, one(browser, "#matrices g[data-pair]"))
    assert told.startswith("layer1 × layer1: linear_cka 0.")
    assert " [" in told
    assert "n = " in told
    assert "n = 2 pairs of training seeds" in hovered(browser, one(browser, "#accuracy .wide circle.dot"))
    ActionChains(browser).move_to_element(one(browser, "#matrices h2")).perform()
    assert not one(browser, "#told").is_displayed()


def test_a_click_or_a_key_on_a_cell_opens_that_pair(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    dialog = one(browser, "#pair")
    assert not dialog.is_displayed()
    cell = all_of(browser, "#matrices g[data-pair]")[1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(browser).move_to_element(cell).click().perform()
    assert dialog.is_displayed()
    assert one(browser, "#pair h3").text == "colour/0 → digit/0: layer1 × layer2"
    rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in all_of(browser, "#pair tbody tr")]
    assert [row[0] for row in rows] == ["linear_cka", "opd"]
    assert [row[1] for row in rows] == ["similarity", "distance"]
    one(browser, "#pair button").click()
    assert not dialog.is_displayed()
    browser.execute_script("arguments[0].focus()", cell)
    cell.send_keys(Keys.ENTER)
    assert dialog.is_displayed()


def test_measure_and_pair_can_be_switched(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)

    def seen() -> list[str]:
        return [one.text.removesuffix(" #") for one in all_of(browser, "#matrices figure:not([hidden]) figcaption")]

    assert seen() == ["linear_cka: colour/0 → digit/0", "opd: colour/0 → digit/0"]
    one(browser, "select[data-tag=measure]").send_keys("opd")
    assert seen() == ["opd: colour/0 → digit/0"]
    one(browser, "select[data-tag=pair]").send_keys("colour/1")
    assert seen() == ["opd: colour/1 → digit/1"]
    assert [option.text for option in all_of(browser, "select[data-tag=sampling] option")] == ["positions"]


def test_every_legend_shows_its_marks_and_a_baseline_its_interval(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    entries = [entry for entry in all_of(browser, ".legend li") if entry.is_displayed()]
    assert len(entries) > 8
    marks = browser.execute_script(
        "return arguments[0].map(e => [...e.querySelectorAll('svg.mark > *')].map(m => {"
        "const box = m.getBoundingClientRect(), style = getComputedStyle(m);"
        "return [Math.max(box.width, box.height), style.fill, style.stroke, style.strokeDasharray]}))",
        entries,
    )
    for entry, shapes in zip(entries, marks, strict=True):
        assert shapes, f"{entry.text} has no mark"
        assert all(size > 5 for size, *_ in shapes), entry.text
    dashed = [entry.text for entry, shapes in zip(entries, marks, strict=True) if any(s[3] != "none" for s in shapes)]
    assert {"native", "chance", "receiver alone"} == set(dashed)
    band = one(browser, "#controls .wide rect.band[data-told^='receiver alone']")
    assert band.size["width"] > 3
    assert hovered(browser, band).startswith("receiver alone: 0.9")
    assert "n = 150 samples" in hovered(browser, band)


def test_a_matrix_is_one_tab_stop_and_arrows_lead_through_it(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    matrices = all_of(browser, "#matrices figure svg")
    stops = [len(matrix.find_elements(By.CSS_SELECTOR, "[tabindex='0']")) for matrix in matrices]
    assert stops == [1] * len(matrices)
    first = one(browser, "#matrices figure:not([hidden]) g[tabindex='0']")
    browser.execute_script("arguments[0].focus()", first)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_DOWN).perform()
    assert browser.switch_to.active_element.get_attribute("data-pair") == "0-2-1", "the last row is the end"
    assert one(browser, "#told").text.startswith("layer3 × layer2")
    assert len(all_of(browser, "#matrices figure:not([hidden]) [tabindex='0']")) == 2


def test_what_was_chosen_stands_in_the_address(browser: webdriver.Chrome, study: Path) -> None:
    path = opened(browser, study)
    one(browser, "select[data-tag=measure]").send_keys("opd")
    box = one(browser, "#table [data-filter]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
    box.send_keys("audit margin")
    rows = [row for row in all_of(browser, "#table tbody tr") if row.is_displayed()]
    assert len(rows) == 2
    assert one(browser, "#table .count").text.startswith("2 of ")
    one(browser, "nav a[href='#rank']").click()
    address = str(browser.current_url)
    assert address.startswith(f"{path.resolve().as_uri()}#rank?")
    browser.get("about:blank")
    browser.get(address)
    assert one(browser, "select[data-tag=measure]").get_attribute("value") == "opd"
    assert len([row for row in all_of(browser, "#table tbody tr") if row.is_displayed()]) == 2
    assert abs(one(browser, "#rank").rect["y"] - browser.execute_script("return scrollY")) < 200
    assert one(browser, "nav").rect["y"] == browser.execute_script("return scrollY"), "the contents stay in sight"
    anchors = [figure.get_attribute("id") for figure in all_of(browser, "main figure")]
    assert all(anchors)
    assert len(set(anchors)) == len(anchors)


def test_a_figure_is_saved_as_svg_png_and_csv(browser: webdriver.Chrome, study: Path, tmp_path: Path) -> None:
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    opened(browser, study)
    figure = one(browser, "#accuracy figure")
    name = figure.get_attribute("id")
    browser.execute_script("arguments[0].querySelector('details').open = true", figure)
    for kind in ("svg", "png", "csv"):
        browser.execute_script("arguments[0].querySelector(`[data-save=${arguments[1]}]`).click()", figure, kind)
        end = time.monotonic() + 60
        while not (tmp_path / f"{name}.{kind}").exists():
            assert time.monotonic() < end, f"no {kind}"
            time.sleep(0.05)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    drawn = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
    assert "Accuracy by cut, into digit on digits/correlated, direct" in "".join(drawn.itertext())
    lines = (tmp_path / f"{name}.csv").read_text().splitlines()
    assert lines[0] == "line,cut,unit,value,low,high,n"
    assert lines[2].startswith("colour,layer1,seed 0 → 1,0.")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_tables_sort(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    table = one(browser, "#table table")
    head = table.find_elements(By.CSS_SELECTOR, "th button")[5]
    assert head.text == "value"

    def values() -> list[float]:
        found = browser.execute_script(
            "return [...arguments[0].tBodies[0].rows].map(r => r.cells[5].dataset.value).filter(v => v !== undefined)",
            table,
        )
        return [float(value) for value in found]

    before = values()
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", head)
    head.click()
    assert values() == sorted(before) != before
    head.click()
    assert values() == sorted(before, reverse=True)


def test_no_name_runs_as_script(browser: webdriver.Chrome, hostile: Path) -> None:
    path = opened(browser, hostile)
    # Two frames behind the end of loading: whatever a name could have started has been run.
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert browser.title == "study – seamripper"
    assert browser.get_log("browser") == []
    assert "<img src=x onerror" in one(browser, "#matrices figcaption").text, "it is shown as what it is"
    assert "</script><script>document.title" in one(browser, "#table").text
    assert len(all_of(browser, "img[src=x], svg[onload], b[onmouseover]")) == 0
    assert len(all_of(browser, "script")) == 2
    for cell in all_of(browser, "#matrices g[data-pair]")[:3]:
        assert "×" in hovered(browser, cell)
    cell.click()
    assert browser.title == "study – seamripper"
    assert "<img src=x" not in path.read_text().replace("&lt;img src=x", "").replace("\\u003cimg src=x", "")


def test_it_fits_a_phone_and_both_grounds(browser: webdriver.Chrome, study: Path, tmp_path: Path) -> None:
    opened(browser, study, width=500)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        wide = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1] == 390, "nothing makes the page scroll sideways"
        small = browser.execute_script(SMALLEST)
        assert small[0] >= 11, small
        grounds = set()
        for ground in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": ground}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            grounds.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert len(grounds) == 2
        one(browser, "#ground").click()
        grounds.add(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert len(grounds) == 2, "the button goes back to light"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_on_a_phone_sentences_of_tables_are_read_without_scrolling_sideways(
    browser: webdriver.Chrome, study: Path
) -> None:
    """Each row of a short table with sentences is a card, with the column's name before each value."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    )
    try:
        opened(browser, study)
        told = one(browser, "#judgements table.cards td.words")
        assert told.text
        ends = "return [...document.querySelectorAll('table.cards td')].map(td => td.getBoundingClientRect().right)"
        edges = browser.execute_script(ends)
        assert len(edges) > 20
        assert max(edges) <= 390
        named = browser.execute_script("return getComputedStyle(arguments[0], '::before').content", told)
        assert "reason" in named
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_two_matrices_of_12_columns_stand_side_by_side(browser: webdriver.Chrome, large: Path) -> None:
    opened(browser, large, width=1400)
    first, second = all_of(browser, "#matrices figure:not([hidden])")[:2]
    assert first.rect["y"] == second.rect["y"]
    assert first.rect["x"] + first.rect["width"] <= second.rect["x"]
    digits = "return [...arguments[0].querySelectorAll('g[data-pair] text')].length"
    assert browser.execute_script(digits, first) == 144, "every cell has its digits"


def test_what_is_shown_is_printed_on_few_sheets_without_the_long_table(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert len([f for f in all_of(browser, "#matrices figure") if f.is_displayed()]) == 2
        assert not one(browser, "nav").is_displayed()
        assert not one(browser, "#table").is_displayed()
        pdf = b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(pdf) > 50_000
    assert 4 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 12


def test_every_figure_has_a_text_alternative(browser: webdriver.Chrome, study: Path) -> None:
    opened(browser, study)
    drawn = all_of(browser, "figure > .scroll > svg")
    assert len(drawn) > 8
    assert all(len(svg.get_attribute("aria-label")) > 20 for svg in drawn)
    assert all(image.get_attribute("alt") for image in all_of(browser, "img"))


def test_a_study_of_12_by_12_and_6_measures_is_small_and_drawn_whole(browser: webdriver.Chrome, large: Path) -> None:
    path = opened(browser, large)
    assert path.stat().st_size <= 6_000_000
    assert len(all_of(browser, "#matrices figure")) == 6
    assert len(all_of(browser, "#matrices figure:not([hidden]) g[data-pair]")) == 6 * 144


def test_a_run_is_watched_in_the_browser_while_it_fills(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """The list of runs, served: it follows a study from its first job to its last, and the report opens from it."""
    from seamripper.report.serve import RunServer

    (tmp_path / "mine.py").write_text("import time\ndef f(k):\n    time.sleep(0.4)\n    return {'k': k}\n")
    (tmp_path / "study.toml").write_text('[[call]]\nfunction = "mine.py:f"\ngrid = { k = [0, 1, 2, 3, 4, 5, 6, 7] }\n')
    runs = tmp_path / "runs"
    runs.mkdir()
    words = ["run", "study.toml", "--store", str(runs / "s"), "--engine", "local?workers=1", "--quiet"]
    with RunServer(runs, port=0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get_log("browser")
        browser.get(f"http://127.0.0.1:{server.server_address[1]}/")
        study = subprocess.Popen([sys.executable, "-m", "seamripper", *words], cwd=tmp_path)
        seen = set()
        end = time.monotonic() + 120
        while "finished" not in (text := one(browser, "body").text):
            seen.add(text)
            assert time.monotonic() < end, text
            time.sleep(0.2)
        assert study.wait(120) == 0
        assert len(seen) >= 2, "it was seen to fill"
        assert "8" in text
        one(browser, "a[href*='/run/']").click()
        assert one(browser, "#verdict").text == "8 of 8 jobs are done: 8 of the kind call."
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
        server.shutdown()


# ---- the page of a paper


def test_a_reproduction_opens_without_an_error_or_a_request_and_runs_no_name(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    path = looked_at(browser, save(hostile_paper(tmp_path))[0])
    assert browser.get_log("browser") == []
    assert [one for one in asked(browser) if not one.startswith("data:")] == [path.resolve().as_uri()]
    assert browser.title == "<script>document.title = 'ran'</script> – seamripper"
    assert one(browser, "#verdict").text == "Of 2 claims: 1 reproduced, 1 not reproduced."
    counted = [figure.text.split()[0] for figure in all_of(browser, ".headline dd")]
    assert counted == ["1", "1", "0"]
    sections = [section.get_attribute("id") for section in all_of(browser, "main > section")]
    assert sections == ["scoreboard", "departures", "table-1"]
    rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in all_of(browser, "tbody tr")]
    assert rows[0][0] == "<script>document.title = 'ran'</script>"
    assert rows[0][3] == "reproduced"
    assert not one(browser, "#table-1 svg").is_displayed(), "tables and figures of items are folded"
    one(browser, "#table-1 details.folded > summary").click()
    assert len(all_of(browser, "#table-1 .wide polyline")) == 1, "at one place alone there is no line"
    told = hovered(browser, one(browser, "#table-1 .wide circle.dot"))
    assert "mean over 3 seeds" in told
    assert all(image.get_attribute("naturalWidth") == "2" for image in all_of(browser, "#table-1 img"))
