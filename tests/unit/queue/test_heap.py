"""The heap with removal: order, and a bound on what it remembers of the removed."""

from berth_server.queue.heap import LazyHeap


def test_order_and_removal() -> None:
    """By order, then by key; a moved key counts at its new place alone."""
    heap = LazyHeap[str, int]()
    for key, order in [("c", 1), ("b", 2), ("a", 2), ("d", 0), ("e", 9)]:
        heap.push(key, order)
    heap.discard("c")
    heap.discard("unknown")
    heap.push("d", 5)
    twin = heap.copy()
    assert heap.head() == (2, "a")
    assert [heap.pop() for _ in range(5)] == ["a", "b", "d", "e", None]
    assert heap.head() is None
    assert [twin.pop() for _ in range(len(twin))] == ["a", "b", "d", "e"]


def test_a_key_that_left_and_came_back_is_there_once() -> None:
    """Though the heap holds it twice with the same order."""
    heap = LazyHeap[str, int]()
    heap.push("a", 1)
    heap.discard("a")
    heap.push("a", 1)
    assert (len(heap), heap.pop(), heap.pop()) == (1, "a", None)


def test_moving_a_key_leaves_bounded_garbage() -> None:
    """A key that only ever moves is never discarded."""
    heap = LazyHeap[str, int]()
    for turn in range(1000):
        heap.push("a", -turn)
        assert len(heap._heap) <= 67
    assert heap.head() == (-999, "a")


def test_garbage_is_bounded() -> None:
    """Keys that come and go, or move, forever cost no memory; so do those at the end, which no pop reaches."""
    heap = LazyHeap[int, int]()
    heap.push(-1, -1)
    for turn in range(10_000):
        heap.push(turn % 100, turn)
        heap.push(1000 + turn, turn)
        heap.discard(1000 + turn)
        assert len(heap._heap) <= 2 * len(heap) + 65
    for key in range(100):
        heap.discard(key)
    assert heap.head() == (-1, -1)
    assert len(heap._heap) <= 67
