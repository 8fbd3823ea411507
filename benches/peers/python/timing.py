"""How calls are timed."""

import time


def minimum(call, seconds, fewest_rounds=7):
    """Nanoseconds a call; tiny ones are timed many at once, or it is the clock that is timed."""
    start = time.perf_counter_ns()
    call()
    repeats = max(1, min(2000, 20_000 // max(1, time.perf_counter_ns() - start)))
    best, rounds = float("inf"), 0
    end = time.perf_counter() + seconds
    while rounds < fewest_rounds or time.perf_counter() < end:
        start = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter_ns() - start) / repeats)
        rounds += 1
    return best
