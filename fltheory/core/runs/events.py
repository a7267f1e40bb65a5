"""Runs on the event clock with every arrival recorded: who came when, from which model, with how many local steps."""
from __future__ import annotations


def record(algorithm, problem, law, arrivals=None, replicates=1, seed=0, device="cpu", noise=None, x0=None, metrics=None, every=1,
           until=None, clock=None, chunk=64, checkpoint=None, seconds=5.0, progress=False):
    """Run a method on the event clock, batched over replicates, and keep every arrival: an `Events`.

    algorithm: an asynchronous method (AsyncFedED, FedAsync, FedBuff) with `arrivals`, its number of arrivals, or phases
    [(algorithm, arrivals), ...] as in `ft.run`. A synchronous one (FedAvg, FedProx, ...) runs on the same clock: the server waits
    for the slowest of the round's clients; one of `arrivals` is then one round. law: an `EventClock`, or for synchronous methods
    any law with clock=EventClock(...), whose paces, transmission, spread and hangs are drawn as for asynchronous ones.
    x0: (d,) start, or (replicates, d), one for each replicate; default 0 (of a network: problem.initial(seed)).
    metrics: name -> function of the server models (batch, d), a torch tensor, -> (batch,); measured at the start, after every
    `every` arrivals and after the last. until: stop once every replicate's clock has passed this time (arrivals is the limit).
    Streams are keyed by (seed, block of 256 replicates, arrival), so replicates do not depend on how many others there are in
    later blocks. checkpoint: a file written every `seconds` seconds and removed at the end; a run killed halfway resumes to
    identical results.

    The `Events` that comes back has, all of shape (arrivals, replicates): time, client (-1: a synchronous round), version (changes
    of the server before the client started), lag (changes since), K (local steps it made), gamma (|x - base|/|Delta|; nan for
    rounds), step (changes of the server after this arrival); measured (points,): after how many arrivals metrics were taken, and
    metrics[name] (points, replicates); start, final (replicates, d) models; save(path), Events.load(path) without pickles;
    value_at(times, metric) (times, replicates): the last value measured by each time; first_time(metric, level) (replicates,): when
    it first was at least `level` (nan: never); replay(algorithm, problem, law): the same models from order, times and K alone.
    """
    raise NotImplementedError("interface only")
