"""Jobs wait in a bounded queue and are answered together."""

import threading
import time

import pytest

from attending.errors import QueueFull
from attending.records import Document, Prediction
from attending.serve.batching import Batcher, Job

ROWS = tuple(Document(str(i), "text") for i in range(8))


class Reader:
    """Answers jobs once it is let, and remembers the sizes of its batches."""

    def __init__(self):
        self.free, self.began, self.sizes = threading.Event(), threading.Event(), []

    def __call__(self, jobs):
        self.began.set()
        assert self.free.wait(5)
        self.sizes.append([len(job.rows) for job in jobs])
        for job in jobs:
            job.answer.set_result([Prediction(r.id, "ok") for r in job.rows])


@pytest.fixture
def reader():
    return Reader()


@pytest.fixture
def make(reader):
    made = []

    def batcher(batch=4, wait=0.0, bound=6):
        made.append(Batcher(reader, batch, wait, bound))
        return made[-1]

    yield batcher
    reader.free.set()
    for one in made:
        one.close(5)


def busy(batcher, reader):
    """Put a job that is being answered, and wait until it is."""
    job = Job(ROWS[:1])
    batcher.put(job)
    assert reader.began.wait(5)
    return job


def test_jobs_that_gather_are_answered_together_in_order(make, reader):
    batcher = make()
    jobs = [busy(batcher, reader), *(Job(ROWS[i : i + 1]) for i in range(1, 4))]
    for job in jobs[1:]:
        batcher.put(job)
    assert batcher.waiting == 3
    reader.free.set()
    assert [job.answer.result(5)[0].id for job in jobs] == ["0", "1", "2", "3"]
    assert reader.sizes == [[1], [1, 1, 1]]
    assert batcher.waiting == 0


def test_a_batch_holds_no_more_than_allowed_and_a_large_job_comes_by_itself(make, reader):
    batcher = make(batch=4, bound=100)
    jobs = [busy(batcher, reader), Job(ROWS[:3]), Job(ROWS[:3]), Job(ROWS), Job(ROWS[:1])]
    for job in jobs[1:]:
        batcher.put(job)
    reader.free.set()
    assert [len(job.answer.result(5)) for job in jobs] == [1, 3, 3, 8, 1]
    assert reader.sizes == [[1], [3], [3], [8], [1]]


def test_a_full_queue_refuses_and_says_when_to_come_again(make, reader):
    batcher = make(bound=6)
    busy(batcher, reader)
    batcher.put(Job(ROWS[:6]))
    with pytest.raises(QueueFull) as refused:
        batcher.put(Job(ROWS[:1]))
    assert 1 <= refused.value.seconds <= 60
    batcher.put(Job(ROWS[:1]), bounded=False)
    reader.free.set()


def test_an_empty_queue_takes_a_job_of_any_size(make, reader):
    batcher = make(bound=2)
    reader.free.set()
    job = Job(ROWS)
    batcher.put(job)
    assert len(job.answer.result(5)) == 8


def test_a_caller_who_went_away_is_not_answered(make, reader):
    batcher = make()
    busy(batcher, reader)
    gone, there = Job(ROWS[1:2]), Job(ROWS[2:3])
    batcher.put(gone)
    batcher.put(there)
    assert gone.answer.cancel()
    reader.free.set()
    assert there.answer.result(5)
    assert reader.sizes == [[1], [1]]


def test_closing_answers_what_waits_and_takes_nothing_more(make, reader):
    batcher = make()
    jobs = [busy(batcher, reader), Job(ROWS[:2])]
    batcher.put(jobs[1])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    time.sleep(0.02)
    with pytest.raises(QueueFull, match="stopping"):
        batcher.put(Job(ROWS[:1]))
    reader.free.set()
    closing.join(5)
    assert all(job.answer.done() for job in jobs)


def test_one_caller_alone_never_waits_for_others(make, reader):
    batcher = make(wait=2.0)
    reader.free.set()
    started = time.perf_counter()
    for _ in range(3):
        job = Job(ROWS[:1])
        batcher.put(job)
        job.answer.result(5)
    assert time.perf_counter() - started < 1
