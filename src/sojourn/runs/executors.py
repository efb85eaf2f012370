"""Executes tasks on local threads, or on the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

_PATIENCE = 5.0  # seconds to wait for a scheduler or for workers; restarting a worker takes two

P = ParamSpec("P")
T = TypeVar("T")


@contextlib.contextmanager
def executor(jobs: int | None, cluster: str | None = None) -> Iterator[tuple[Executor, int]]:
    """Yield an executor, of local threads or of a Dask cluster's workers, and how many tasks it runs at once."""
    if cluster is not None:
        with _connected(cluster) as client, Cluster(client, cluster) as workers:
            yield workers, jobs or workers.width()
        return
    width = jobs or os.cpu_count() or 1
    with ThreadPoolExecutor(width) as pool:
        try:
            yield pool, width
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at this address; it is untyped, since Dask ships no types."""
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'sojourn[dask]'") from None
    for name in ("distributed", *logging.root.manager.loggerDict):
        # Dask logs every broken connection at length.
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        # If something else listens there, a client would wait for ever, and log nonsense at the end.
        with ThreadPoolExecutor(1) as aside:  # since a notebook's thread already runs an event loop
            kind = aside.submit(lambda: asyncio.run(asyncio.wait_for(_kind_of(address), _PATIENCE))).result()
        if kind != "Scheduler":
            raise ValueError(f"it is a {kind}")  # noqa: TRY301 - it gets the same sentence
        client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 - an address can be wrong in many ways
        why = str(error) or f"whatever is there has not answered as one within {_PATIENCE:.0f} s"
        raise ValueError(f"there is no Dask scheduler at {address or 'an empty address'}: {why}") from None
    try:
        yield client
    finally:
        client.close(timeout=1)


async def _kind_of(address: str) -> str:
    """Return what Dask has at an address: a Scheduler or a Worker."""
    from distributed.core import rpc

    there: Any = rpc(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    try:
        return str((await there.identity())["type"])
    finally:
        await there.close_rpc()


class Cluster(Executor):
    """The workers of a Dask cluster.

    Dask itself waits for ever if the scheduler is gone or there are no workers. This executor gives up after a
    few seconds: all pending tasks fail with an error that says why, and so do tasks that are submitted later.
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._pool: Executor = client.get_executor(pure=False, retries=3)
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._broken = ""
        self._closed = threading.Event()
        if not self._wait_for_workers():
            raise ValueError(f"the Dask scheduler at {address} has no workers; start some, and try again")
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def width(self) -> int:
        """Return how many tasks the workers can run at once."""
        return max(1, self._threads() or 0)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a function for a worker to call."""
        ours: Future[T] = Future()
        with self._lock:
            if self._broken:
                raise BrokenExecutor(self._broken)
            self._waiting.add(ours)
        try:
            theirs = self._pool.submit(fn, *args, **kwargs)
        except Exception as error:  # a client without its scheduler may raise anything
            raise BrokenExecutor(f"the Dask cluster at {self._address} accepts no tasks: {error}") from error
        ours.add_done_callback(lambda _: theirs.cancel() if ours.cancelled() else None)
        theirs.add_done_callback(lambda _: self._pass_on(theirs, ours))
        return ours

    def _pass_on(self, theirs: Future[T], ours: Future[T]) -> None:
        """Pass on the result of a task, unless its future was cancelled."""
        if theirs.cancelled():
            if not ours.cancelled():  # Dask cancels tasks itself when the scheduler is gone
                self._break(f"the Dask scheduler at {self._address} is gone")
            return
        with self._lock:
            if ours not in self._waiting or not ours.set_running_or_notify_cancel():
                return
            self._waiting.discard(ours)
        error = theirs.exception()
        if error is not None:
            ours.set_exception(error)
        else:
            ours.set_result(theirs.result())

    def _break(self, reason: str) -> None:
        """Fail all pending tasks, and all that are submitted later."""
        with self._lock:
            if self._closed.is_set() or self._broken:
                return
            self._broken = reason
            given_up, self._waiting = self._waiting, set()
        for future in given_up:
            if future.set_running_or_notify_cancel():
                future.set_exception(BrokenExecutor(reason))

    def _threads(self) -> int | None:
        """Return the number of threads of all workers, or None if the scheduler does not answer."""
        if self._client.status != "running":
            return None
        try:
            found = self._client.sync(self._client.scheduler.ncores, callback_timeout=2)
        except Exception:  # noqa: BLE001 - a client without its scheduler may raise anything
            return None
        return int(sum(found.values()))

    def _wait_for_workers(self) -> bool:
        """Wait a few seconds for the first worker, and return whether there is one."""
        deadline = time.monotonic() + _PATIENCE
        while not self._threads():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def _watch(self) -> None:
        """Check every second that the scheduler and its workers are there."""
        well = time.monotonic()
        while not self._closed.wait(1.0):
            threads = self._threads()
            if threads:
                well = time.monotonic()
            elif time.monotonic() - well > _PATIENCE:
                gone = "is gone" if threads is None else "has no workers left"
                self._break(f"the Dask scheduler at {self._address} {gone}")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop watching, and cancel whatever is still running."""
        self._closed.set()
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            future.cancel()
