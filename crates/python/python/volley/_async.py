"""Calls that wait for the engine while an event loop goes on."""

from __future__ import annotations

import asyncio

from . import _volley

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")


async def call(token: _volley.Token, function: Callable[..., T], *arguments: object) -> T:
    """What a function returns, which waits for the engine on a thread of the loop's executor. When
    the task is cancelled, so is what runs with the token, and the call ends before the task does."""
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(None, lambda: function(*arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        token.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            # What the call made of its cancellation does not matter.
            running.exception()
        raise
