"""Drives the shell in a real terminal and compares screens.

    python tests/shell/terminal.py target/debug/volley [NAME]...

Each scenario types into a pseudo terminal whose screen `pyte` (PyPI) emulates, and waits for what the
screen must show: no step waits for a fixed time. With names, only those scenarios run. A failure
prints the screen.
"""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import sys
import tempfile
import termios
import time

import pyte

# A wait that takes longer is a failure.
SECONDS_MAX = 60
COLUMNS, LINES = 80, 24
PROMPT = "volley> "
# A table of two columns in `.mode html`.
HTML = """<table>
<thead><tr><th>a</th><th>b</th></tr></thead>
<tbody>
<tr><td class="number">1</td><td>x</td></tr>
</tbody>
</table>"""

CTRL_C, CTRL_D, ENTER, TAB, UP, ESCAPE = "\x03", "\x04", "\r", "\t", "\x1b[A", "\x1b"


class Failure(Exception):
    pass


class Terminal:
    """A program in a terminal of 80 x 24 characters."""

    def __init__(self, program, arguments, folder, environment):
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(program, [program, *arguments], environment)
        size = struct.pack("HHHH", LINES, COLUMNS, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        self.ended = False

    def read(self, seconds):
        """Reads what arrives within a time; whether something did."""
        if self.ended or not select.select([self.terminal], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return False
        self.raw += data
        self.stream.feed(data)
        # The editor asks where the cursor is.
        for _ in range(data.count(b"\x1b[6n")):
            answer = f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R"
            os.write(self.terminal, answer.encode())
        return True

    def wait(self, what, condition):
        """Reads until the screen is as it should be."""
        end = time.monotonic() + SECONDS_MAX
        while not condition(self):
            if time.monotonic() > end or (self.ended and not condition(self)):
                raise Failure(f"waited in vain for {what}\n{self.text()}")
            self.read(0.2)

    def wait_text(self, text):
        self.wait(repr(text), lambda it: text in it.text())

    def wait_prompt(self):
        """Until an empty prompt stands at the cursor."""
        self.wait("the prompt", lambda it: it.line().rstrip() == PROMPT.rstrip())

    def wait_line(self, text):
        """Until the line at the cursor is this one."""
        self.wait(f"the line {text!r}", lambda it: it.line().rstrip() == text)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def run(self, text):
        """Runs a line; returns what it printed, which must be shorter than the screen."""
        self.clear()
        self.send(text)
        # The text may take several lines of the screen.
        typed = "".join(text.split())
        self.wait("the echo", lambda it: "".join(it.text().split()).endswith(typed))
        self.send(ENTER)
        self.wait("the end", lambda it: it.line().rstrip() == PROMPT.rstrip() and it.prompts() > 1)
        lines = self.lines()
        first = next(index for index, line in enumerate(lines) if line.startswith(PROMPT))
        return "\n".join(lines[first + 1 : self.screen.cursor.y]).rstrip()

    def clear(self):
        """Empties the screen, as Ctrl-L does."""
        self.send("\x0c")
        self.wait("an empty screen", lambda it: it.prompts() == 1 and it.screen.cursor.y == 0)

    def prompts(self):
        return sum(line.startswith(PROMPT.rstrip()) for line in self.lines())

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def line(self):
        return self.screen.display[self.screen.cursor.y]

    def text(self):
        return "\n".join(self.lines()).rstrip()

    def exit_status(self):
        self.wait("the end of the program", lambda it: it.ended)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def close(self):
        os.close(self.terminal)
        if not self.ended:
            try:
                os.kill(self.process, 9)
                os.waitpid(self.process, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def check(actual, expected, what="screen"):
    if actual != expected:
        raise Failure(f"{what} is\n{actual}\nand should be\n{expected}")


def without_time(text):
    return re.sub(r" in \d+\.\d{3} s", " in # s", text)


class Scenarios:
    """One method per scenario."""

    def __init__(self, program):
        self.program = os.path.abspath(program)

    def start(self, arguments=(), files=None, has_prompt=True, **environment):
        self.folder = tempfile.mkdtemp(prefix="volley-terminal-")
        for name, text in (files or {}).items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if name.endswith(".sh"):
                os.chmod(path, 0o755)
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": self.folder,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **environment,
        }
        self.terminal = Terminal(self.program, list(arguments), self.folder, variables)
        if has_prompt:
            self.terminal.wait_prompt()
        return self.terminal

    def results(self, it):
        check(
            without_time(it.run("SELECT * FROM (VALUES (1, 'a'), (20, NULL)) v(n, s) ORDER BY n;")),
            "┌─────────┬─────────┐\n"
            "│       n ┆ s       │\n"
            "│ INTEGER ┆ VARCHAR │\n"
            "╞═════════╪═════════╡\n"
            "│       1 ┆ a       │\n"
            "│      20 ┆ NULL    │\n"
            "└─────────┴─────────┘\n"
            "2 rows in # s",
        )
        check(without_time(it.run("CREATE TABLE t AS SELECT 1 AS a;")), "done, 1 row in # s")
        check(it.run(".null -"), "")
        check(it.run(".types off"), "")
        check(it.run(".thousands on"), "")
        shown = it.run("SELECT 1234567 AS n, NULL AS s;")
        check(shown.split("\n")[3], "│ 1,234,567 ┆ - │")
        check(it.run(".maxrows 2"), "")
        check(
            without_time(it.run("FROM range(5);")).split("\n")[-1],
            "5 rows (2 shown) in # s",
        )

    def many_columns(self, it):
        columns = ", ".join(f"{index} AS column_{index}" for index in range(30))
        shown = it.run(f"SELECT {columns};").split("\n")
        # The statement itself takes several lines.
        shown = shown[next(index for index, line in enumerate(shown) if line[0] == "┌") :]
        if not all(len(line) <= COLUMNS for line in shown):
            raise Failure("\n".join(shown))
        check("┆ … ┆" in shown[1], True, "the cut in the middle")
        check("column_0" in shown[1] and "column_29" in shown[1], True, "the outer columns")
        check(re.search(r"1 row, 30 columns \(\d+ shown\)", shown[-1]) is not None, True)

    def wide_characters(self, it):
        values = "('日本語', 'é'), ('a', NULL), ('한국어 テスト', 'ß'), (repeat('長', 90), '')"
        it.run(f"FROM (VALUES {values}) v(\"名前\", s);")
        # The right border of every line is in the same column of the terminal.
        borders = set()
        for row, line in enumerate(it.lines()):
            if line.startswith(("┌", "│", "╞", "└")):
                cells = it.screen.buffer[row]
                borders.add(max(column for column in range(COLUMNS) if cells[column].data in "┐│╡┘"))
        check(len(borders), 1, f"columns of the right border {borders}\n{it.text()}")
        check("…" in it.text(), True, "the cut")

    def odd_values(self, it):
        check(
            without_time(it.run("SELECT 1 AS a WHERE false;")).split("\n")[-1],
            "0 rows in # s",
        )
        shown = it.run("SELECT 'a' || chr(10) || chr(9) || chr(27) || '[31mb' AS s, x'00ff41' AS b;")
        check("│ a\\n\\t\\u{1b}[31mb ┆ \\x00\\xFFA" in shown, True, shown)
        shown = it.run("SELECT repeat('x', 10000000) AS s, 1 AS n;").split("\n")
        check(all(len(line) <= COLUMNS for line in shown), True, "a line too long")
        check("…" in shown[4] and shown[4].endswith(" 1 │"), True, shown[4])

    def folder_of_files(self, it):
        check(it.run(".mode csv"), "")
        check(it.run("FROM one UNION ALL FROM two ORDER BY a;"), "a\n1\n2")

    def progress_of_load(self, it):
        it.wait("the table", lambda t: " lineitem (1 of 8)" in t.text())
        it.wait("the remaining time", lambda t: " left" in t.text())
        check(it.exit_status(), 0, "exit status")
        check(it.text(), "", "what stays")

    def progress_of_writes(self, it):
        for sql in [
            "CREATE TABLE t AS SELECT i, i % 1000 AS k, 'v' || i AS s FROM range(40000000) r(i);",
            "COPY (SELECT i, 'v' || i AS s FROM range(40000000) r(i)) TO 'out.csv';",
        ]:
            it.clear()
            it.send(sql)
            it.wait("the echo", lambda t, end=sql[-12:]: end in "".join(t.lines()))
            it.send(ENTER)
            it.wait("the bar", lambda t: " %" in t.line() and t.line()[0] in "█░")
            it.send(CTRL_C)
            it.wait_text("error: ")
            it.wait_prompt()
            check("█" in it.text() or "░" in it.text(), False, "a bar that stays")

    def modes(self, it):
        row = "SELECT 1 AS a, 'x' AS b;"
        for mode, expected in [
            ("csv", "a,b\n1,x"),
            ("json", '[{"a":1,"b":"x"}]'),
            ("ndjson", '{"a":1,"b":"x"}'),
            ("markdown", "| a | b |\n|---:|---|\n| 1 | x |"),
            ("line", "a = 1\nb = x"),
            ("insert t", "INSERT INTO t VALUES (1, 'x');"),
            ("html", HTML),
            ("agent", "a:INTEGER       b:VARCHAR\n1       x\n# 1 row"),
        ]:
            check(it.run(f".mode {mode}"), "")
            check(it.run(row), expected, mode)

    def boxes(self, it):
        """`box` shows all of a long text, `table` cuts it, `.width` sets where."""
        long = "SELECT repeat('ab', 60) AS s;"
        shown = it.run(long)
        check("…" in shown, True, shown)
        check(it.run(".mode box"), "")
        shown = "".join(it.run(long).split())
        check("ab" * 60 in shown.replace("│", ""), True, shown)
        check(it.run(".mode table"), "")
        check(it.run(".width 30"), "")
        lines = it.run(long).split("\n")
        top = next(line for line in lines if line.startswith("┌"))
        check(len(top) <= 30, True, top)

    def variables(self, it):
        check(it.run(".var n 41"), "")
        check(it.run(".mode csv"), "")
        check(it.run("SELECT $n + 1 AS x;"), "x\n42")
        check(it.run(".print a 'b c'"), "a b c")

    def help(self, it):
        shown = it.run(".help mode")
        check(shown.startswith(".mode [MODE [TABLE]]\n  The form of results"), True, shown)
        check(it.run(".nonsense").startswith("error: no such command: .nonsense"), True)

    def several_lines(self, it):
        it.send("SELECT 1" + ENTER)
        it.wait_line("     >")
        it.send("AS one;")
        it.wait_text("AS one;")
        it.send(ENTER)
        it.wait_text("1 row in")
        # The history has the statement as it was typed.
        it.wait_prompt()
        it.clear()
        it.send(UP)
        it.wait("the statement", lambda t: t.lines()[:2] == ["volley> SELECT 1", "     > AS one;"])
        it.send(CTRL_C)
        it.wait_prompt()

    def abandoned_text_is_kept(self, it):
        it.send("SELECT 'half of a statement'")
        it.wait_text("half of a statement'")
        it.send(CTRL_C)
        it.wait_prompt()
        it.clear()
        it.send(UP)
        it.wait_line("volley> SELECT 'half of a statement'")
        it.send(";")
        it.wait_line("volley> SELECT 'half of a statement';")
        it.send(ENTER)
        it.wait_text("1 row in")

    def ctrl_c_closes_the_menu(self, it):
        it.run("CREATE TABLE menu_first (a INTEGER);")
        it.run("CREATE TABLE menu_second (a INTEGER);")
        it.clear()
        it.send("SELECT 1 FROM menu_")
        it.wait_line("volley> SELECT 1 FROM menu_")
        it.send(TAB)
        it.wait("a menu", lambda t: "menu_first" in t.text() and "menu_second" in t.text())
        it.send(CTRL_C)
        it.wait_prompt()
        check("menu_first" in it.text(), False, "a menu that stays")
        check("menu_second" in it.text(), False, "a menu that stays")
        # The next key goes to the line and not to the menu, and the text is in the history.
        it.send(UP)
        it.wait_line("volley> SELECT 1 FROM menu_")
        it.send(CTRL_C)
        it.wait_prompt()
        check(it.run("SELECT 2 AS b;").count("b"), 1, "a result")

    def pasted_text_runs_after_enter(self, it):
        check("\x1b[?2004h".encode() in it.raw, True, "bracketed paste")
        it.send("\x1b[200~SELECT 1 AS x;\nSELECT 2 AS y;\x1b[201~")
        it.wait_text("SELECT 2 AS y;")
        check("1 row" in it.text(), False, "run before Enter")
        it.send(ENTER)
        it.wait("two results", lambda t: t.text().count("1 row in") == 2)

    def completion(self, it):
        it.run("CREATE TABLE lines AS SELECT 1 AS l_orderkey, 2 AS l_price;")
        it.clear()
        for typed, expected in [
            ("SELECT l_ord", "SELECT l_orderkey"),
            ("SELECT * FROM li", "SELECT * FROM lines"),
            ("SET memory_l", "SET memory_limit"),
            (".thou", ".thousands"),
            ("SELECT lines.l_p", "SELECT lines.l_price"),
            ("FROM 'sal", "FROM 'sales.csv'"),
        ]:
            it.send(typed)
            it.wait_line(PROMPT + typed)
            it.send(TAB)
            it.wait_line(PROMPT + expected)
            it.send(CTRL_C)
            it.wait_prompt()

    def colors_while_typing(self, it):
        it.send("SELECT 'a' FORM t WHERE 1")
        it.wait_line("volley> SELECT 'a' FORM t WHERE 1")
        line = it.screen.buffer[it.screen.cursor.y]
        start = len(PROMPT)
        check(line[start].fg, "blue", "the color of SELECT")
        check(line[start + len("SELECT ")].fg, "green", "the color of a text")
        check(line[start + len("SELECT 'a' FORM ")].fg, "red", "the color of what is wrong")
        it.send(CTRL_C)
        it.wait_prompt()

    def carets(self, it):
        for sql, wrong in [
            ("SELECT '日本', nope FROM range(1);", "nope"),
            ("SELECT 'é' || 'ä', wrong FROM range(1);", "wrong"),
        ]:
            shown = it.run(sql)
            rows = [index for index, line in enumerate(it.screen.display) if "^" in line]
            check(len(rows), 1, f"lines with a caret:\n{shown}")
            caret = it.screen.buffer[rows[0]]
            above = it.screen.buffer[rows[0] - 1]
            columns = [column for column in range(COLUMNS) if caret[column].data == "^"]
            check("".join(above[column].data for column in columns), wrong, "above the carets")

    def progress(self, it):
        long = "SELECT count(*) FROM range(100000) a(x), range(100000) b(y) WHERE x * y % 7 = 3;"
        it.clear()
        it.send(long)
        it.wait_text("% 7 = 3;")
        it.send(ENTER)
        it.wait("the bar", lambda t: "░" in t.text() and " %" in t.line())
        it.send(CTRL_C)
        it.wait_text("error: ")
        it.wait_prompt()
        check("░" in it.text(), False, "a bar that stays")

    def pager(self, it):
        it.run(".maxrows 0")
        it.clear()
        it.send("FROM range(1000);")
        it.wait_text("range(1000);")
        it.send(ENTER)
        it.wait("the pager", lambda t: "BIGINT" in t.text() and t.prompts() == 0)
        it.send("G")
        it.wait_text("1000 rows")
        it.send("q")
        it.wait_prompt()
        check(it.run(".pager off"), "")

    def editor(self, it):
        it.run("SELECT 1 AS first;")
        it.clear()
        it.send(".edit")
        it.wait_line("volley> .edit")
        it.send(ENTER)
        it.wait_line("volley> SELECT 1 AS second;")
        it.send(ENTER)
        it.wait_text("second")
        it.wait_text("1 row in")

    def startup_file(self, it):
        check(it.run("FROM greeting;"), "word\nhello")

    def files(self, it):
        check(it.run(".open sales.csv"), "")
        check(it.run(".mode csv"), "")
        check(it.run("FROM sales;"), "a,b\n1,x")
        check(it.run(".output out.csv"), "")
        check(it.run("FROM sales;"), "")
        check(it.run(".output"), "")
        check(without_time(it.run(".import out.csv copied")), "done, 1 row in # s")
        check(it.run("FROM copied;"), "a,b\n1,x")
        check(it.run(".read q.sql"), "c\n3")
        check(it.run(".tables cop").split("\n")[3], "│ copied ┆ table │")
        check(it.run(".schema copied").startswith("CREATE TABLE copied ("), True)

    def profile(self, it):
        it.run("SELECT count(*) FROM range(100000) t(i) WHERE i % 3 = 0;")
        shown = it.run(".profile page.html")
        check(shown.startswith("profile: page.html\n"), True, shown)
        with open(os.path.join(self.folder, "page.html"), encoding="utf-8") as file:
            check("<!DOCTYPE html>" in file.read(), True)

    def leaving(self, it):
        it.send(CTRL_D)
        check(it.exit_status(), 0, "exit status")

    def bail(self, it):
        it.send("SELECT nope;")
        it.wait_text("SELECT nope;")
        it.send(ENTER)
        check(it.exit_status(), 1, "exit status")

    SETUPS = {
        "startup_file": {
            "files": {
                ".volleyrc": ".mode csv\nCREATE TABLE greeting AS SELECT 'hello' AS word;\n"
            }
        },
        "folder_of_files": {
            "files": {"d/one.csv": "a\n1\n", "d/two.csv": "a\n2\n"},
            "arguments": ["d"],
        },
        "progress_of_load": {
            "arguments": ["tpch", "load", "--scale", "0.5", "--database", "db"],
            "has_prompt": False,
        },
        "completion": {"files": {"sales.csv": "a,b\n1,x\n"}},
        "files": {"files": {"sales.csv": "a,b\n1,x\n", "q.sql": "SELECT 3 AS c;\n"}},
        "editor": {
            "files": {"edit.sh": "#!/bin/sh\nsed -i s/first/second/ \"$1\"\n"},
            "EDITOR": "./edit.sh",
        },
        "pager": {"VOLLEY_PAGER": "less -RX"},
        "bail": {"arguments": ["--bail"]},
    }

    def all(self):
        hidden = {"start", "all", "play"}
        return [name for name in vars(Scenarios) if name[0] not in "_S" and name not in hidden]

    def play(self, name):
        terminal = self.start(**self.SETUPS.get(name, {}))
        try:
            getattr(self, name)(terminal)
        finally:
            terminal.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    scenarios = Scenarios(sys.argv[1])
    failed = 0
    names = sys.argv[2:] or scenarios.all()
    for name in names:
        try:
            scenarios.play(name)
            print(f"ok    {name}")
        except Failure as failure:
            failed += 1
            print(f"FAILED {name}: {failure}")
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
