# SPDX-License-Identifier: Apache-2.0
"""Progress of a search: a bar, a function of the user's, ctrl-C."""
from __future__ import annotations

import signal
import threading
import time
from typing import Any, Callable

#: Called as (iteration, cost, defect, violation); False ends the search with the best so far.
Progress = Callable[[int, float, float, float], Any]

_PATIENCE = 2.0  # [s] before a bar is worth its place


class Bar:
    """A tqdm bar after two seconds; a first ctrl-C ends the search, a second one everything."""

    def __init__(self, total: int, also: Progress | None, shown: bool) -> None:
        self._total, self._also, self._shown = total, also, shown
        self._begin, self._bar = time.monotonic(), None
        self._pressed = False
        self._before: Any = None

    def __enter__(self) -> Bar:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._press)
        return self

    def _press(self, number: int, frame: Any) -> None:
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def __exit__(self, *error: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._bar is not None:
            self._bar.close()

    def __call__(self, iteration: int, cost: float, defect: float, violation: float) -> Any:
        if self._shown and self._bar is None and time.monotonic() - self._begin > _PATIENCE:
            try:
                from tqdm.auto import tqdm
                self._bar = tqdm(total=self._total, unit="iteration")
            except ImportError:
                self._shown = False
        if self._bar is not None:
            self._bar.update(iteration - self._bar.n)
            self._bar.set_postfix(cost=f"{cost:.4g}", defect=f"{defect:.1e}")
        answer = None if self._also is None else self._also(iteration, cost, defect, violation)
        return False if self._pressed else answer
