"""Worker processes for functions of Python."""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import select
import subprocess
import sys
import weakref

from . import _volley, _worker
from ._errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: How often a call that waits for a worker looks whether its query was cancelled, in seconds.
_INTERVAL = 0.05

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class WorkerDied(RuntimeError):
    """A worker process ended while it ran a function."""


class _Process:
    """A worker process that has loaded its function."""

    def __init__(self, payload: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _worker.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            self._send(payload)
            self._send(pickle.dumps(sys.path))
            self._receive()
        except BaseException:
            self.end()
            raise

    def call(self, message: bytes) -> list[Any]:
        """The cells that the function makes."""
        self._send(message)
        return self._receive()

    def _send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        try:
            _worker.send(self._process.stdin, message)
        except OSError:
            raise self._died() from None

    def _receive(self) -> list[Any]:
        stream = self._process.stdout
        assert stream is not None
        while not select.select([stream], [], [], _INTERVAL)[0]:
            # Raises when the query was cancelled.
            _volley.check_cancelled()
        answer = _worker.receive(stream)
        if answer is None:
            raise self._died()
        kind, value = pickle.loads(answer)
        if kind == "raised":
            raise value
        cells: list[Any] = value
        return cells

    def _died(self) -> WorkerDied:
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return WorkerDied(f"the worker process of the function ended {how}")

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass


class Pool:
    """Worker processes of one function, started when they are needed."""

    def __init__(self, function: Callable[..., Any], nulls: bool, size: int | None) -> None:
        self._owner = os.getpid()
        self._idle: queue.LifoQueue[_Process | None] = queue.LifoQueue()
        for _ in range(size or os.cpu_count() or 1):
            self._idle.put(None)
        self._payload = _worker.dumps((function, nulls))
        _pools.add(self)

    def call(self, columns: list[list[Any]], rows: int) -> list[Any]:
        """The results of the function for each row."""
        message = pickle.dumps((columns, rows), pickle.HIGHEST_PROTOCOL)
        process = self._take()
        try:
            if process is None or not process.is_alive():
                process = _Process(self._payload)
            cells = process.call(message)
        except BaseException as raised:
            # After an error of the function the process goes on; after anything else it may be in
            # the middle of an answer.
            if process is not None and isinstance(raised, (WorkerDied, Cancelled)):
                process.end()
                process = None
            self._idle.put(process)
            raise
        self._idle.put(process)
        return cells

    def _take(self) -> _Process | None:
        while True:
            try:
                return self._idle.get(timeout=_INTERVAL)
            except queue.Empty:
                _volley.check_cancelled()

    def close(self) -> None:
        """Ends the processes that wait."""
        if os.getpid() != self._owner:
            return
        while True:
            try:
                process = self._idle.get_nowait()
            except queue.Empty:
                return
            if process is not None:
                process.end()

    def __del__(self) -> None:
        self.close()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close()
