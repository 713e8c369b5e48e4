"""Requests of any unary operation, many at a time on one stream."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import heapq
import itertools
import queue
import threading
import time
from typing import Any, Generic, Iterator, Optional, TypeVar

from . import _messages
from ._arrays import Bytes
from ._channels import Channels
from ._checks import check_positive, typed
from ._request import Request, field_head, split, varint
from ._stream import Stream
from .errors import BasebandError, Cancelled, DeadlineExceeded, Unavailable, make_error, numbered_error
from .options import PRIORITIES, CallOptions, ClientOptions, check_priority

T = TypeVar("T")
_FIELDS = {  # of an operation, in SubmitRequest and SubmitResponse
    "Encode": 11,
    "Decode": 12,
    "RecoverCarrier": 13,
    "Downconvert": 14,
    "EncodeSharedChannel": 15,
    "DecodeSharedChannel": 16,
}
_FOREVER = float("inf")


@dataclasses.dataclass(frozen=True)
class Answer(Generic[T]):
    """What came of one request of `Client.submit`.

    Attributes
    ----------
    index : int
        Of the request, counted from 0.
    error : BasebandError or None
    """

    index: int
    error: Optional[BasebandError]
    _result: Optional[T]

    def result(self) -> T:
        """The result; raises `error` if there is one."""
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value]


@dataclasses.dataclass(eq=False)
class _Item:
    """A request without an answer."""

    field: int  # of the operation
    request: Optional[Request[Any]]  # None: it is answered
    parts: list[Bytes]
    size: int  # of the parts
    future: concurrent.futures.Future[Any]
    deadline: float
    priority: int
    attempts: int = 1
    charged: int = 0  # bytes of the credits
    is_taken: bool = False  # by whom its future has, or will have, its answer

    def message(self, number: int) -> bytes:
        head = b"\x08" + varint(number)
        if self.deadline < _FOREVER:
            head += b"\x10" + varint(max(1, int((self.deadline - time.monotonic()) * 1e6)))
        if self.priority:
            head += b"\x18" + varint(self.priority)
        return b"".join([head, field_head(self.field, self.size), *self.parts])


class _Call:
    """One stream to one server, its credits, and what is in flight on it. Under the session's lock."""

    def __init__(self) -> None:
        self.stream: Stream
        self.credit_requests = 0
        self.credit_bytes = 0
        self.open: dict[int, Optional[_Item]] = {}  # None: given up, but the server has it yet
        self.next_id = 1
        self.heard = time.monotonic()
        self.is_granted = False  # the first credits have come

    def is_response_due(self) -> bool:
        return bool(self.open) or not self.is_granted

    def has_credits(self, message_bytes: int) -> bool:
        return self.credit_requests > 0 and (message_bytes <= self.credit_bytes or not self.open)


class SubmitStream:
    """Requests of any unary operation, many at a time; made by `Client.open_submit_stream`. Thread-safe.

    A stream stays with its server. When that goes, the next one is opened, and what has no answer is
    sent there, at most `max_attempts` times. Leaving its ``with`` waits for the answers that are due.

    Examples
    --------
    >>> import numpy as np
    >>> import baseband_offload as bo
    >>> client = bo.Client(target)
    >>> code = bo.WifiCode("1/2", 648)
    >>> with client.open_submit_stream() as stream:
    ...     futures = [stream.submit(bo.encode_request(np.zeros(324, np.uint8), code)) for slot in range(20)]
    >>> sum(not future.result().bits.any() for future in futures)
    20
    """

    def __init__(
        self, channels: Channels, client: ClientOptions, response_timeout: float, wait_for_ready: bool, priority: str
    ) -> None:
        check_positive("response_timeout", response_timeout)
        self._channels, self._client = channels, client
        self._options = CallOptions(wait_for_ready=wait_for_ready, priority=priority)
        self._response_timeout = response_timeout
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._wake = threading.Condition(lock)  # the keeper's
        self._call: Optional[_Call] = None
        self._calls: set[_Call] = set()
        self._deadlines: list[tuple[float, int, _Item]] = []  # a heap
        self._again: list[tuple[float, int, _Item]] = []  # a heap: what is to be sent again, and when
        self._order = itertools.count()
        self._unanswered = 0
        self._failures = 0  # calls that ended too early
        self._last_failure: BasebandError = make_error("UNAVAILABLE")
        self._finishing = self._closed = False
        self._keeper = threading.Thread(target=self._keep, name="baseband Submit", daemon=True)
        with self._changed:
            self._current()
        self._keeper.start()

    def __enter__(self) -> SubmitStream:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.finish() if kind is None else self.cancel()

    @property
    def in_flight(self) -> int:
        """Requests without an answer yet."""
        return self._unanswered

    @typed
    def submit(
        self,
        request: Request[T],
        *,
        timeout: Optional[float] = None,
        priority: Optional[str] = None,
        wait_for_credits: bool = True,
    ) -> concurrent.futures.Future[T]:
        """Sends `request`.

        Parameters
        ----------
        request : Request
        timeout : float, optional
            Seconds from now, for all attempts; afterwards its future has DeadlineExceeded.
        priority : {"high", "normal", "low"}, optional
            That of the stream, if it is not given.
        wait_for_credits : bool
            The server grants so many requests and bytes at a time. When they are used up, wait for
            some, or raise ResourceExhausted.

        Returns
        -------
        concurrent.futures.Future
            Its result, or the server's error. Callbacks must not block.
        """
        check_positive("timeout", timeout)
        if priority is not None:
            check_priority(priority)
        if request.rpc not in _FIELDS:
            raise ValueError(f"a Submit stream takes no {request.rpc}")
        parts = request.parts()
        item = _Item(
            _FIELDS[request.rpc],
            request,
            parts,
            sum(len(part) for part in parts),
            concurrent.futures.Future(),
            _FOREVER if timeout is None else time.monotonic() + timeout,
            0 if priority is None else 1 + PRIORITIES.index(priority),
        )
        item.future.set_running_or_notify_cancel()  # it cannot be cancelled
        with self._changed:
            if self._finishing:
                raise make_error("FAILED_PRECONDITION", "the stream was finished")
            self._await_credits(item, wait_for_credits)
            self._unanswered += 1
            if item.deadline < _FOREVER:
                if len(self._deadlines) > 2 * self._unanswered + 64:  # mostly of what is answered
                    self._deadlines = [entry for entry in self._deadlines if not entry[2].is_taken]
                    heapq.heapify(self._deadlines)
                heapq.heappush(self._deadlines, (item.deadline, next(self._order), item))
                self._wake.notify()
            self._send(item)
        return item.future

    def finish(self) -> None:
        """Waits for the answers that are due, and ends the stream."""
        with self._changed:
            self._finishing = True
            self._changed.wait_for(lambda: self._unanswered == 0)
        self._end(make_error("CANCELLED"))

    def cancel(self) -> None:
        """What has no answer is Cancelled."""
        with self._changed:
            self._finishing = True
        self._end(make_error("CANCELLED"))

    # ---- of the lock's holder

    def _current(self) -> _Call:
        if self._call is None:
            call = _Call()
            call.stream = Stream(
                self._channels,
                "Submit",
                self._options,
                None,
                lambda message: self._on_message(call, message),
                lambda error: self._on_end(call, error),
            )
            self._call = call
            self._calls.add(call)
            call.stream.start()
        return self._call

    def _can_send(self, item: _Item) -> bool:
        # Besides the parts: the field's head, id, timeout and priority.
        return not self._again and self._current().has_credits(item.size + 32)

    def _await_credits(self, item: _Item, may_wait: bool) -> None:
        if self._can_send(item):
            return
        if not may_wait:
            raise make_error("RESOURCE_EXHAUSTED", f"no credits: {self._unanswered} requests are in flight")
        failures = self._failures
        while True:
            left = None if item.deadline == _FOREVER else max(0.0, item.deadline - time.monotonic())
            if not self._changed.wait_for(
                lambda: self._closed or self._failures != failures or self._can_send(item), left
            ):
                raise make_error("DEADLINE_EXCEEDED", "the timeout passed while waiting for credits")
            if self._closed:
                raise make_error("UNAVAILABLE", "the stream has ended")
            if self._failures == failures:
                return
            failures = self._failures
            if not isinstance(self._last_failure, Unavailable) or item.attempts >= self._client.max_attempts:
                raise self._last_failure
            pause = self._client.pause_after(item.attempts)
            item.attempts += 1
            self._changed.wait_for(lambda: self._closed, pause if left is None else min(pause, left))

    def _send(self, item: _Item) -> None:
        call = self._current()
        message = item.message(call.next_id)
        if not call.open:
            call.heard = time.monotonic()
        item.charged = len(message)
        call.credit_requests -= 1
        call.credit_bytes -= item.charged
        call.open[call.next_id] = item
        call.next_id += 1
        call.stream.write(message)

    def _retire(self, call: _Call) -> None:
        """No more goes to `call`; what it has is answered, or sent again."""
        if self._call is call:
            self._call = None
            call.stream.half_close()

    def _take(self, item: _Item) -> bool:
        """Whether the caller is the one who resolves it."""
        is_first, item.is_taken = not item.is_taken, True
        return is_first

    def _resolve(self, item: _Item, error: Optional[Exception], data: Optional[Bytes] = None) -> None:
        """Its future has the answer; by whom it was taken, outside the lock, for callbacks run."""
        result = None
        request, item.request, item.parts = item.request, None, []  # _deadlines has the item yet
        if error is None and request is not None:
            try:
                result = request.result(data or b"")
            except Exception as unreadable:
                error = unreadable
        item.future.set_exception(error) if error is not None else item.future.set_result(result)
        with self._changed:
            self._unanswered -= 1
            self._changed.notify_all()

    def _try_again(self, item: _Item, error: BasebandError, call: Optional[_Call]) -> bool:
        """Whether it will be sent once more, after a pause."""
        now = time.monotonic()
        is_told = error.retry_after is not None and 0 < error.retry_after < _FOREVER
        is_over = self._closed or self._channels.is_closed
        if not isinstance(error, Unavailable) or is_over or item.attempts >= self._client.max_attempts:
            return False
        pause = error.retry_after if is_told else self._client.pause_after(item.attempts)
        if pause is None or now + pause >= item.deadline:
            return False
        if call is not None and not is_told:
            self._retire(call)  # one that drains refuses each request, too, before it ends the stream
        item.attempts += 1
        heapq.heappush(self._again, (now + pause, next(self._order), item))
        self._wake.notify()
        return True

    # ---- of the threads

    def _on_message(self, call: _Call, message: bytes) -> None:
        fields, results = split(message, tuple(_FIELDS.values()))
        answer = _messages.message_class("SubmitResponse").FromString(fields)
        item: Optional[_Item] = None
        error: Optional[BasebandError] = None
        with self._changed:
            call.heard = time.monotonic()
            call.is_granted = True
            if answer.id:
                if answer.id not in call.open:
                    call.stream.cancel(make_error("INTERNAL", f"the server answered id {answer.id}, not in flight"))
                    return
                item = call.open.pop(answer.id)
            call.credit_requests += answer.credits.requests
            call.credit_bytes += answer.credits.bytes
            self._changed.notify_all()
            if self._again:
                self._wake.notify()
            if item is None:
                return
            if answer.code:
                retry_after = answer.retry_after_us / 1e6 if answer.retry_after_us else None
                error = numbered_error(answer.code, answer.message, retry_after)
                if self._try_again(item, error, call):
                    return
            elif item.field not in results:
                error = make_error("INTERNAL", "the server answered with another operation's response")
            if not self._take(item):
                return
        self._resolve(item, error, results.get(item.field))

    def _on_end(self, call: _Call, error: Optional[BasebandError]) -> None:
        if isinstance(error, Cancelled):
            lost: BasebandError = error
        elif self._channels.is_closed:
            lost = make_error("CANCELLED", "the client was closed")
        else:  # only where the server went, or said nothing any more, it may be tried elsewhere
            gone = error is None or isinstance(error, (DeadlineExceeded, Unavailable))
            code = "UNAVAILABLE" if gone or error is None else error.code
            lost = make_error(code, f"the stream ended before the answer came: {error or 'OK'}")
        with self._changed:
            self._calls.discard(call)
            items = [item for item in call.open.values() if item is not None]
            call.open.clear()
            if self._call is call:  # what waited for its credits has failed, too
                self._call = None
                self._failures += 1
                self._last_failure = lost
                now = time.monotonic()
                items += [entry[2] for entry in self._again if entry[0] <= now]
                self._again = [entry for entry in self._again if entry[0] > now]
                heapq.heapify(self._again)
            failed = [item for item in items if not self._try_again(item, lost, None) and self._take(item)]
            self._changed.notify_all()
            self._wake.notify()
        for item in failed:
            self._resolve(item, lost)

    def _keep(self) -> None:
        """Deadlines, servers that say nothing, and what is sent again."""
        while True:
            with self._changed:
                if self._closed and not self._calls:
                    return
                if self._channels.is_closed:
                    break
                late = self._take_late()
                try:
                    if not late and not self._send_again():
                        self._wake.wait(self._next_wake())
                except BasebandError:  # the client was closed
                    break
            for item in late:
                self._resolve(item, make_error("DEADLINE_EXCEEDED", "no answer within the request's timeout"))
        self._end(make_error("CANCELLED", "the client was closed"))

    def _take_late(self) -> list[_Item]:
        now = time.monotonic()
        late = []
        while self._deadlines and self._deadlines[0][0] <= now:
            item = heapq.heappop(self._deadlines)[2]
            if self._take(item):
                late.append(item)
        for item in late:
            self._again = [entry for entry in self._again if entry[2] is not item]
            for call in self._calls:
                call.open = {number: None if other is item else other for number, other in call.open.items()}
        heapq.heapify(self._again)
        for call in self._calls:
            if call.is_response_due() and now - call.heard >= self._response_timeout:
                text = f"no response within {self._response_timeout:g} s"
                call.stream.cancel(make_error("DEADLINE_EXCEEDED", text))
                call.heard = _FOREVER
        return late

    def _send_again(self) -> bool:
        """Whether something was sent."""
        if not self._again or self._again[0][0] > time.monotonic() or self._closed:
            return False
        if not self._current().has_credits(self._again[0][2].size + 32):
            return False
        self._send(heapq.heappop(self._again)[2])
        self._changed.notify_all()
        return True

    def _next_wake(self) -> float:
        """Seconds; for a server that says nothing it is enough to look now and then."""
        now = time.monotonic()
        times = [heap[0][0] - now for heap in (self._deadlines, self._again) if heap and heap[0][0] > now]
        return min([*times, self._response_timeout / 4])

    def _end(self, reason: BasebandError) -> None:
        with self._changed:
            self._closed = True
            calls = list(self._calls)
            waiting = [entry[2] for entry in self._again if self._take(entry[2])]
            self._again.clear()
            is_idle = self._unanswered == 0
            self._changed.notify_all()
            self._wake.notify()
        for item in waiting:
            self._resolve(item, reason)
        for call in calls:
            call.stream.half_close() if is_idle else call.stream.cancel(reason)


def run(
    stream: SubmitStream, requests: Iterator[Request[Any]], in_flight: int, timeout: Optional[float]
) -> Iterator[Answer[Any]]:
    """Answers as they come, at most `in_flight` at a time; then the stream ends."""
    done: queue.SimpleQueue[tuple[int, concurrent.futures.Future[Any]]] = queue.SimpleQueue()
    due = 0
    try:
        for index, request in enumerate(requests):
            while due >= in_flight or not done.empty():
                yield taken(*done.get())
                due -= 1
            try:
                future = stream.submit(request, timeout=timeout)
            except BasebandError as error:
                yield Answer(index, error, None)
                continue
            due += 1
            future.add_done_callback(lambda found, index=index: done.put((index, found)))  # type: ignore[misc]
        while due:
            yield taken(*done.get())
            due -= 1
        stream.finish()
    finally:
        stream.cancel()


def taken(index: int, future: concurrent.futures.Future[Any]) -> Answer[Any]:
    """The answer that `future` has."""
    error = future.exception()
    if error is not None and not isinstance(error, BasebandError):
        raise error
    return Answer(index, error, None if error else future.result())
