"""A real kernel of Jupyter: output of frames, `%%volley`, progress, interrupts."""

import os
import random
import time

import pytest

client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

#: Interrupts at random moments. The goal of 1,000 runs with VOLLEY_INTERRUPTS=1000.
INTERRUPTS = int(os.environ.get("VOLLEY_INTERRUPTS", "8"))

#: Runs for minutes unless it is interrupted, and uses all threads.
LONG = "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE a.i + b.j < 0"


class Kernel:
    """A kernel and its client."""

    def __init__(self):
        self.manager, self.client = client.manager.start_new_kernel(kernel_name="python3")

    def run(self, code, interrupt_after=None):
        """Text outputs, HTML outputs, and the name of the exception of a cell."""
        message = self.client.execute(code)
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            self.manager.interrupt_kernel()
        texts, html, updates = [], [], []
        while True:
            reply = self.client.get_iopub_msg(timeout=120)
            if reply["parent_header"].get("msg_id") != message:
                continue
            kind, content = reply["header"]["msg_type"], reply["content"]
            if kind == "stream":
                texts.append(content["text"])
            elif kind in ("execute_result", "display_data"):
                texts.append(content["data"].get("text/plain", ""))
                html.append(content["data"].get("text/html", ""))
            elif kind == "update_display_data":
                updates.append(content["data"].get("text/html", ""))
            elif kind == "status" and content["execution_state"] == "idle":
                break
        reply = self.client.get_shell_msg(timeout=120)
        while reply["parent_header"].get("msg_id") != message:
            reply = self.client.get_shell_msg(timeout=120)
        return "".join(texts), html, updates, reply["content"].get("ename")


@pytest.fixture(scope="module")
def kernel():
    made = Kernel()
    assert made.run("import volley as vl\ndb = vl.connect(threads=2)")[3] is None
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def test_frames_are_tables_of_html(kernel):
    _, html, _, error = kernel.run("vl.frame({'a<b': [1, None], 's': ['<x>', 'y']})")
    assert error is None
    assert "a&lt;b" in html[0] and "&lt;x&gt;" in html[0] and "BIGINT" in html[0]
    assert "2 rows" in html[0] and " ms" in html[0]


def test_the_magic_runs_sql(kernel):
    kernel.run("%load_ext volley\nnumbers = {'n': [1, 2, 3]}")
    _, html, _, error = kernel.run("%%volley\nSELECT sum(n) AS total FROM numbers")
    assert error is None and "total" in html[0] and "<td>6</td>" in html[0]
    kernel.run("%%volley biggest\nSELECT max(n) AS m FROM numbers")
    assert kernel.run("print(biggest.item())")[0].strip() == "3"
    assert kernel.run("print((%volley SELECT 42).item())")[3] is not None
    kernel.run("answer = %volley SELECT 42")
    assert kernel.run("print(answer.item())")[0].strip() == "42"
    assert kernel.run("%%volley\nSELEC 1")[3] == "InvalidSyntax"


def test_progress_needs_no_widgets(kernel):
    _, html, updates, error = kernel.run(f"db.sql({LONG!r}).fetchall()", interrupt_after=2.5)
    assert error == "KeyboardInterrupt"
    assert any("<progress" in it for it in html)
    assert updates and updates[-1] == ""


def test_the_kernel_survives_interrupts(kernel):
    generator = random.Random(38)
    for _ in range(INTERRUPTS):
        _, _, _, error = kernel.run(
            f"db.sql({LONG!r}).fetchall()", interrupt_after=generator.uniform(0.05, 0.6))
        assert error == "KeyboardInterrupt"
        text, _, _, error = kernel.run("print(db.sql('SELECT sum(i) FROM range(1000) r(i)').item())")
        assert (text.strip(), error) == ("499500", None)
    assert kernel.manager.is_alive()
