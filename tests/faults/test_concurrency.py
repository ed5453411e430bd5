"""Threads and tasks run pipelines side by side: contexts stay apart, and instruments that they share are not confused."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from passlab.instrument import PassTimingInstrument, Recorder, StatisticsInstrument
from passlab.passes import PASSES
from passlab.transform import PassContext, Sequential, current_run, module_pass
from tests.faults.injection import run, setting
from tests.transform.programs import chain, idle

NAMES = sorted(PASSES)[::5]


def test_pipelines_in_threads_give_what_they_give_alone():
    def work(number: int) -> bool:
        where = setting(NAMES[number % len(NAMES)])
        recorder = Recorder()
        context = PassContext(opt_level=4, instruments=[recorder, PassTimingInstrument(), StatisticsInstrument()])
        same = run(where, context).astext() == where.result
        return same and len(recorder.roots) == 1 and PassContext.current().opt_level == 2 and current_run() is None

    for name in NAMES:
        setting(name)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))


def test_an_instrument_that_threads_share_keeps_their_passes_apart():
    timing, recorder = PassTimingInstrument(), Recorder()
    meeting = threading.Barrier(2, timeout=20)

    def meet(mod, ctx):
        meeting.wait()
        return mod

    def work(name: str) -> None:
        inner = module_pass(meet, opt_level=0, name=f"meet {name}")
        with context:
            Sequential([inner, idle(f"idle {name}")], name=name)(chain("exp"))

    context = PassContext(instruments=[timing, recorder])
    with PassContext(instruments=[timing]):  # the times of all are kept while this is the outermost one
        threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trees = {root.name: [child.name for child in root.children] for root in recorder.roots}
    assert trees == {"a": ["meet a", "idle a"], "b": ["meet b", "idle b"]}
    assert all(event.status == "ran" for root in recorder.roots for event in root.walk())
    for name in ("a", "b"):
        times = [p for _, p, _ in timing.walk() if p.name == name]
        assert all([child.name for child in time.children] == [f"meet {name}", f"idle {name}"] for time in times)


def test_tasks_that_take_turns_between_passes_record_apart():
    async def work(name: str) -> tuple[list[str], int]:
        recorder, mod = Recorder(), chain("exp")
        with PassContext(opt_level=len(name), instruments=[recorder]):
            for step in range(4):
                mod = idle(f"{name}{step}")(mod)
                await asyncio.sleep(0)
            level = PassContext.current().opt_level
        return [root.name for root in recorder.roots], level

    async def both() -> list[tuple[list[str], int]]:
        return list(await asyncio.gather(work("a"), work("bb"), work("ccc")))

    assert asyncio.run(both()) == [([f"{name}{i}" for i in range(4)], len(name)) for name in ("a", "bb", "ccc")]
