"""One matrix and one dot plot twice: by the project's own renderer, and as Vega-Lite specifications.

    pip install --target /tmp/vega vl-convert-python
    npm install --prefix /tmp/vega --ignore-scripts vega@6 vega-lite@6 vega-embed@7
    PYTHONPATH=/tmp/vega python benchmarks/vega_trial.py --out /tmp/vega/trial --npm /tmp/vega/node_modules --browser

Draws both figures both ways, writes the files, and prints the lines of code that only these two figures need, the size
of each SVG, the seconds of CPU for each, and the size of a page that shows one figure and works offline: as vl-convert
bundles it, and with vega's interpreter, which a content security policy allows. With chromium and its driver there, it
also opens these pages under the policy of our reports.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seamripper.estimate import Estimate
from seamripper.figures import Grid, Strip, document, scene, scene as scenes

Spec = dict[str, Any]
SIZE = 12
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def grid() -> Grid:
    """A matrix of 12 × 12 scores with intervals."""
    names = tuple(f"block{k}" for k in range(SIZE))
    values = [[1 / (1 + 0.3 * abs(i - j)) for j in range(SIZE)] for i in range(SIZE)]
    cells = tuple(tuple(Estimate(v, v - 0.02, min(v + 0.02, 1.0), 360, "samples") for v in row) for row in values)
    return Grid("Linear CKA", names, names, cells, (0.0, 1.0), tags={"measure": "linear CKA"}, key="pair")


def strip() -> Strip:
    """Five controls of three seeds each, around an observed value."""
    known = {"self": 0.93, "other seed": 0.91, "random sender": 0.6, "shuffled": 0.2, "clustered noise": 0.99}
    groups = tuple(
        (name, tuple(Estimate(v + 0.01 * k, v - 0.03, min(v + 0.04, 1.0), 360, "samples") for k in range(3)))
        for name, v in known.items()
    )
    return Strip("Controls", groups, Estimate(0.95, 0.92, 0.97, 360, "samples"), "accuracy", bounds=(0.0, 1.0))


def grid_spec(figure: Grid) -> Spec:
    """The matrix in Vega-Lite: cells with their sentence, digits where they fit, the diagonal framed, a scale."""
    rows = [
        {
            "row": row,
            "column": column,
            "value": cell.value,
            "says": f"{row} × {column}: {figure.tags['measure']} {cell.describe()}",
            "digits": f"{cell.value:.2f}".lstrip("0") if cell.value < 1 else "1",
            "same": row == column,
        }
        for row, cells in zip(figure.rows, figure.cells, strict=True)
        for column, cell in zip(figure.columns, cells, strict=True)
    ]
    place = {
        "x": {"field": "column", "type": "ordinal", "sort": None, "title": figure.axes[1], "axis": {"orient": "top"}},
        "y": {"field": "row", "type": "ordinal", "sort": None, "title": figure.axes[0]},
    }
    colour = {"field": "value", "type": "quantitative", "scale": {"scheme": "cividis", "domain": list(figure.scale)}}
    ink = {"condition": {"test": "datum.value > 0.55", "value": "black"}, "value": "white"}
    hover = {"field": "says", "type": "nominal"}
    frame = {"condition": {"test": "datum.same", "value": "black"}, "value": None}
    cells = {"mark": "rect", "encoding": {"color": colour, "stroke": frame, "tooltip": hover, "description": hover}}
    words = {"mark": {"type": "text", "fontSize": 11}, "encoding": {"text": {"field": "digits"}, "color": {**ink}}}
    size = {"width": {"step": 43}, "height": {"step": 43}}
    return {"data": {"values": rows}, "encoding": place, "layer": [cells, words], **size}


def strip_spec(figure: Strip) -> Spec:
    """The dot plot in Vega-Lite: a row for each group, dodged intervals, the observed value through all rows."""
    assert figure.observed is not None
    points = [
        {"group": name, "seed": k, **_ends(point), "says": f"{name}: {point.describe()}"}
        for name, group in figure.groups
        for k, point in enumerate(group)
    ]
    seen = [{**_ends(figure.observed), "says": f"observed: {figure.observed.describe()}"}]
    x = {
        "field": "value",
        "type": "quantitative",
        "title": figure.x,
        "scale": {"domain": list(figure.bounds or (0, 1))},
    }
    y = {"field": "group", "type": "nominal", "sort": None, "title": None}
    dodge = {"yOffset": {"field": "seed", "type": "ordinal", "scale": {"paddingOuter": 1.5}}}
    hover = {"field": "says", "type": "nominal"}
    said = {"tooltip": hover, "description": hover}
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    whisker = {"mark": "rule", "encoding": {**ends, "y": y, **dodge}}
    dot = {"mark": {"type": "point", "filled": True}, "encoding": {"x": x, "y": y, **dodge, **said}}
    band = {"data": {"values": seen}, "mark": {"type": "rect", "opacity": 0.2, "color": "#d55e00"}, "encoding": ends}
    line = {"data": {"values": seen}, "mark": {"type": "rule", "color": "#d55e00"}, "encoding": {"x": x, **said}}
    return {
        "data": {"values": points},
        "layer": [band, line, whisker, dot],
        "width": 640,
        "height": {"step": 32, "for": "position"},
    }


def _ends(point: Any) -> dict[str, float]:
    return {"value": point.value, "low": point.low, "high": point.high}


OURS = {"matrix": ("_grid", "_cell", "_scale_bar")} | {
    "dots": ("_strip", "_strip_colour", "_strip_row", "_strip_legend", "_through_key", "_through")
}
"""The functions of the renderer that only this figure needs."""
SPECS: dict[str, tuple[Any, Callable[[Any], Spec]]] = {"matrix": (grid(), grid_spec), "dots": (strip(), strip_spec)}


def lines_of(functions: list[Callable[..., Any]]) -> int:
    """Lines of code, without docstrings and comments on lines of their own."""
    text = "".join(inspect.getsource(function) for function in functions)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(('"""', "#")))


def timed(work: Callable[[], str]) -> tuple[str, float]:
    """What it returns, and its seconds of CPU."""
    begun = time.process_time()
    return work(), time.process_time() - begun


def drawn_marks(page: Path) -> str:
    """How many marks the page draws in headless chromium, and how its first error begins."""
    from selenium import webdriver

    choices = webdriver.ChromeOptions()
    choices.binary_location = "/usr/bin/chromium"
    for flag in ("--headless", "--no-sandbox", "--disable-gpu"):
        choices.add_argument(flag)
    choices.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(choices, webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        browser.get(page.resolve().as_uri())
        browser.set_script_timeout(20)
        browser.execute_async_script("setTimeout(arguments[0], 3000)")
        drawn = browser.execute_script("return document.querySelectorAll('svg path, canvas').length")
        errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    finally:
        browser.quit()
    return f"{drawn} marks drawn; {errors[0].partition(' ')[2][:180] if errors else 'no error'}"


SCRIPTS = (
    "vega/build/vega.min.js",
    "vega-lite/build/vega-lite.min.js",
    "vega-embed/build/vega-embed.min.js",
)
"""Vega-Embed has the interpreter in it."""


def interpreted(spec: Spec, modules: Path) -> str:
    """A page of one figure whose expressions are interpreted, with the scripts of the npm packages in it."""
    texts = [(modules / script).read_text().partition("//# sourceMappingURL")[0] for script in SCRIPTS]
    texts.append(f"vegaEmbed('#figure', {json.dumps(spec)}, {{ast: true, renderer: 'svg', actions: false}});")
    scripts = "".join("<script>{}</script>".format(text.replace("</script>", "<\\/script>")) for text in texts)
    return (
        f"<!doctype html><html><head><meta charset='utf-8'></head><body><div id='figure'></div>{scripts}</body></html>"
    )


def with_policy(page: str) -> str:
    """The page under the content security policy of our reports."""
    return page.replace("<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)


def main() -> None:
    """Draw, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/vega"))
    parser.add_argument("--npm", type=Path, help="node_modules with vega, vega-lite and vega-embed")
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    if importlib.util.find_spec("vl_convert") is None:
        print("The trial needs vl-convert-python, which seamripper does not: see the first lines of this file.")
        return
    import vl_convert

    options.out.mkdir(parents=True, exist_ok=True)
    home = sys.modules[scenes.__module__]
    for name, (figure, spec_of) in SPECS.items():
        own = [getattr(home, function) for function in OURS[name]]
        ours, seconds = timed(lambda figure=figure: document(figure))  # type: ignore[misc]
        spec = spec_of(figure)
        theirs, others = timed(lambda spec=spec: vl_convert.vegalite_to_svg(json.dumps(spec)))  # type: ignore[misc]
        (options.out / f"{name}-ours.svg").write_text(ours)
        (options.out / f"{name}-vega.svg").write_text(theirs)
        (options.out / f"{name}-vega.png").write_bytes(vl_convert.vegalite_to_png(json.dumps(spec)))
        print(f"{name}: lines {lines_of(own)} ours, {lines_of([spec_of])} Vega-Lite; marks {len(scene(figure).marks)}")
        print(f"  SVG {len(ours) / 1e3:.0f} kB in {seconds:.3f} s ours, {len(theirs) / 1e3:.0f} kB in {others:.3f} s")
    spec = SPECS["matrix"][1](SPECS["matrix"][0])
    pages = {"vl-convert's bundle": vl_convert.vegalite_to_html(json.dumps(spec), bundle=True)}
    if options.npm:
        pages["with the interpreter"] = interpreted(spec, options.npm)
    for number, (name, page) in enumerate(pages.items()):
        free, bound = (options.out / f"page-{number}-{kind}.html" for kind in ("free", "policy"))
        free.write_text(page)
        bound.write_text(with_policy(page))
        print(f"page of one Vega-Lite figure, offline, {name}: {len(page) / 1e6:.2f} MB")
        if options.browser:
            print(f"  without a policy: {drawn_marks(free)}")
            print(f"  under the policy of our reports: {drawn_marks(bound)}")


if __name__ == "__main__":
    main()
