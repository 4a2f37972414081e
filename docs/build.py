#!/usr/bin/env python3
"""Builds the documentation site, or checks the code blocks of its pages.

    python docs/build.py --volley target/debug/volley            builds target/site
    python docs/build.py --volley target/debug/volley --check    runs the code blocks

Building needs `mkdocs-material` (PyPI). The pages of settings and of commands are generated from the
program; warnings, such as links to nowhere, are errors.

A block of `console` below the comment `<!-- run -->` is run: lines that begin with `$ ` are commands of
a POSIX shell, others are what they print. A line `...` stands for any number of lines, and `<n>` in a
line for a number. The blocks of a page share an empty folder. `<!-- file NAME -->` above a block
writes it to a file first.
"""

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

BLOCK = re.compile(
    r"<!-- (?P<what>run|file) ?(?P<name>[^ ]*) -->\n+```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def settings_page(volley):
    command = [volley, "--format", "json", "-c", "SHOW ALL"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    lines = [
        "# Settings",
        "",
        "`SET name = 'value'` changes a setting of the session, `RESET name` gives it its default, and",
        "`SHOW ALL` lists them.",
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    lines += [f"| `{row['name']}` | {html.escape(row['description'])} |" for row in rows]
    return "\n".join(lines) + "\n"


def commands_page(volley):
    text = subprocess.run([volley, "-c", ".help"], capture_output=True, text=True, check=True).stdout
    return f"# Commands of the shell\n\n`.help` prints this list.\n\n```text\n{text.rstrip()}\n```\n"


def build(volley, site):
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "docs"
        ignored = shutil.ignore_patterns("build.py")
        shutil.copytree(DOCS, pages, ignore=ignored)
        (pages / "settings.md").write_text(settings_page(volley), encoding="utf-8")
        (pages / "commands.md").write_text(commands_page(volley), encoding="utf-8")
        config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        config = config.replace("docs_dir: docs", f"docs_dir: {pages}")
        (Path(folder) / "mkdocs.yml").write_text(config, encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
        command += ["--config-file", f"{folder}/mkdocs.yml", "--site-dir", str(site)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        if subprocess.run(command, env=environment, check=False).returncode != 0:
            sys.exit("the site has warnings or errors")
    print(f"{len(list(Path(site).rglob('*.html')))} pages in {site}")


def commands_of(text):
    """The commands of a block, each with the lines that it prints."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands and commands[-1][0].endswith("\\") and not commands[-1][1]:
            commands[-1] = (commands[-1][0] + "\n" + line, [])
        elif commands:
            commands[-1][1].append(line)
    return commands


def agrees(printed, expected):
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line).replace("<n>", r"[\d.]+") + r"[ ]*\n"
    return re.fullmatch(pattern, printed) is not None


def check(volley):
    failed = ran = 0
    for page in sorted([ROOT / "README.md", *DOCS.rglob("*.md")]):
        blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
        if not blocks:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = f"{os.path.dirname(volley)}:{os.environ['PATH']}"
            environment = {**os.environ, "PATH": path, "HOME": folder, "NO_COLOR": "1"}
            for block in blocks:
                if block["what"] == "file":
                    (Path(folder) / block["name"]).write_text(block["text"], encoding="utf-8")
                    continue
                for command, expected in commands_of(block["text"]):
                    ran += 1
                    done = subprocess.run(
                        ["sh", "-c", command], cwd=folder, env=environment, text=True, check=False,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    )
                    if not agrees(done.stdout, expected):
                        failed += 1
                        wanted = "\n".join(expected)
                        print(f"FAILED {page.relative_to(ROOT)}: {command}\n{done.stdout}\nand not\n{wanted}\n")
    print(f"{ran - failed} passed, {failed} failed")
    if ran == 0:
        sys.exit("no code block ran")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volley", required=True, help="the shell")
    parser.add_argument("--check", action="store_true", help="run the code blocks")
    parser.add_argument("--site", default=str(ROOT / "target/site"), help="the output folder")
    arguments = parser.parse_args()
    volley = os.path.abspath(arguments.volley)
    if arguments.check:
        sys.exit(check(volley) > 0)
    build(volley, arguments.site)


if __name__ == "__main__":
    main()
