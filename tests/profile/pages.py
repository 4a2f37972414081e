"""Opens profile pages in a real Chromium and uses them as a person would.

    python tests/profile/pages.py --volley target/debug/volley --data data/tpch-sf0.01

Needs `playwright` (PyPI) and Debian's `chromium`. For each of 22 TPC-H and 20 other queries the
shell writes a page, the JSON form and the text form of the same run. The page must make no request, log no error,
let every operator be selected by mouse and keyboard, sort its table, and have the same sums as the
text form. With --screenshots FOLDER it leaves pictures.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

OTHERS = [
    "SELECT 1",
    "SELECT '<script>alert(1)</script>' AS \"a & b\"",
    "FROM region LIMIT 1",
    "SELECT count(*) FROM range(200000) t(i) WHERE i % 3 = 0",
    "SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 3",
    "SELECT DISTINCT l_shipmode FROM lineitem",
    "SELECT l_returnflag, count(*) FROM lineitem GROUP BY ROLLUP (l_returnflag)",
    "SELECT sum(x) OVER (PARTITION BY x % 5 ORDER BY x) FROM range(1000) t(x)",
    "WITH a AS (SELECT o_custkey AS k, count(*) AS n FROM orders GROUP BY 1) "
    "SELECT * FROM a x JOIN a y ON x.n = y.n AND x.k = y.k",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 50) SELECT sum(n) FROM r",
    "SELECT * FROM nation UNION ALL SELECT * FROM nation",
    "SELECT * FROM nation EXCEPT SELECT * FROM nation WHERE n_nationkey < 5",
    "SELECT * FROM nation, region WHERE n_nationkey < r_regionkey",
    "SELECT unnest([1, 2, 3])",
    "SELECT count(*) FROM lineitem TABLESAMPLE 10 PERCENT",
    "SELECT (SELECT max(o_totalprice) FROM orders WHERE o_custkey = c_custkey) FROM customer LIMIT 5",
    "SELECT * FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "CREATE TABLE copied AS SELECT * FROM nation",
    "SELECT approx_distinct(l_partkey), median(l_quantity) FROM lineitem",
    "SELECT * FROM nation a FULL JOIN nation b ON a.n_nationkey = b.n_nationkey + 3",
]


def profile(program, data, sql, folder, name):
    """Runs a statement; the paths of its page, JSON form and text form."""
    paths = [os.path.join(folder, f"{name}.{ending}") for ending in ("html", "json", "txt")]
    lines = [".output " + os.devnull, ".profile on", sql + ";", ".output"]
    lines += [f".profile {path}" for path in paths]
    command = [program, "--data", data, "--format", "csv"]
    ran = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{sql}\n{ran.stderr}")
    return paths


def operator_lines(text):
    """Name and rows of every operator of the text form."""
    pattern = r"^\s+([a-z][a-z0-9 ]*):.*?out (\d+) rows"
    return sorted(re.findall(pattern, text, re.MULTILINE))


def numbers(text):
    return text.replace(",", "")


class Pages:
    def __init__(self, browser, screenshots):
        self.browser = browser
        self.screenshots = screenshots
        self.problems = []

    def check(self, condition, name, message):
        if not condition:
            self.problems.append(f"{name}: {message}")

    def use(self, name, path, text):
        context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        requests, errors = [], []
        page.on("request", lambda it: requests.append(it.url))
        page.on("console", lambda it: errors.append(it.text) if it.type in ("error", "warning") else None)
        page.on("pageerror", lambda it: errors.append(str(it)))
        url = "file://" + path
        page.goto(url)
        nodes = page.locator("svg.plan .node")
        count = nodes.count()
        self.check(count > 0, name, "no nodes")
        for index in range(count):
            node = nodes.nth(index)
            identity = node.get_attribute("data-node")
            node.scroll_into_view_if_needed()
            node.click()
            shown = page.locator("article.selected:visible")
            self.check(shown.count() == 1, name, f"node {identity} has no details")
            self.check(shown.get_attribute("data-node") == identity, name, f"details of {identity}")
        # By keyboard: the first node, then Enter.
        nodes.first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        self.check(page.locator(".node.selected").count() == 1, name, "no node by keyboard")
        rows = page.locator("#operators tbody tr")
        cells = rows.evaluate_all("rows => rows.map(it => [it.cells[1].innerText, it.cells[6].innerText])")
        in_page = sorted((operator, numbers(out)) for operator, out in cells)
        self.check(in_page == operator_lines(text), name, f"{in_page}\n{operator_lines(text)}")
        button = page.locator("#operators th button[data-column='3']")
        button.click()
        times = rows.evaluate_all("rows => rows.map(it => Number(it.cells[3].dataset.key))")
        self.check(times == sorted(times, reverse=True), name, f"not sorted: {times}")
        button.click()
        for key in "++-0":
            page.keyboard.press(key)
        if self.screenshots:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                picture = os.path.join(self.screenshots, f"{name}-{scheme}.png")
                page.screenshot(path=picture, full_page=True)
        page.emulate_media(media="print")
        visible = page.locator("article:visible").count()
        self.check(visible == count, name, f"prints {visible} of {count} details")
        # The page itself and its empty icon.
        foreign = [it for it in requests if it != url and not it.startswith("data:")]
        self.check(not foreign, name, f"requests {foreign}")
        self.check(not errors, name, f"logs {errors}")
        context.close()
        return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volley", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--screenshots")
    parser.add_argument("--only", help="names separated by commas, such as q3,other5")
    arguments = parser.parse_args()
    tpch = os.path.join(os.path.dirname(__file__), "../../crates/tpch/queries")
    queries = {f"q{it}": open(f"{tpch}/q{it:02}.sql", encoding="utf-8").read() for it in range(1, 23)}
    queries |= {f"other{index}": sql for index, sql in enumerate(OTHERS, 1)}
    if arguments.only:
        queries = {name: queries[name] for name in arguments.only.split(",")}
    if arguments.screenshots:
        os.makedirs(arguments.screenshots, exist_ok=True)
    program = os.path.abspath(arguments.volley)
    largest = nodes = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=arguments.chromium, args=["--no-sandbox"]
        )
        pages = Pages(browser, arguments.screenshots)
        for name, sql in queries.items():
            sql = sql.strip().rstrip(";")
            page, document, text = profile(program, arguments.data, sql, folder, name)
            with open(document, encoding="utf-8") as file:
                json.load(file)
            with open(text, encoding="utf-8") as file:
                text = file.read()
            size = os.path.getsize(page)
            largest = max(largest, size)
            nodes += pages.use(name, page, text)
            print(f"{name}: {size:,} bytes")
        browser.close()
    for problem in pages.problems:
        print(f"FAILED {problem}")
    print(f"{len(queries)} pages, {nodes} nodes, largest {largest:,} bytes")
    print(f"{len(queries) - len(set(it.split(':')[0] for it in pages.problems))} passed, "
          f"{len(set(it.split(':')[0] for it in pages.problems))} failed")
    sys.exit(bool(pages.problems))


if __name__ == "__main__":
    main()
