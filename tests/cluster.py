"""A Dask cluster of real processes on this machine: scheduler and workers on free ports, to be killed, all gone at the end."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALONE = ("--no-dashboard", "--host", "localhost")


class Cluster:
    """Used as a context. folder: for what its processes write; address of the scheduler; workers: their processes."""

    def __init__(self, folder, workers=2):
        self.folder, self.workers, self.processes, self.wanted = Path(folder), [], [], workers

    def __enter__(self):
        try:
            file = self.folder / "scheduler.json"
            self.scheduler = self._start("scheduler", *ALONE, "--port", "0", "--scheduler-file", str(file))
            wait(lambda: file.is_file() and file.stat().st_size, 60)
            self.address = json.loads(file.read_text())["address"]
            for _ in range(self.wanted):
                self.add()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def add(self):
        """One more worker, which may join at any time."""
        self.workers.append(self._start("worker", self.address, *ALONE, "--no-nanny", "--nthreads", "1", "--death-timeout", "60",
                                        "--local-directory", str(self.folder)))

    def kill(self, process):
        """SIGKILL, as the system does where memory ends."""
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self, *command):
        with open(self.folder / f"{command[0]}-{len(self.processes)}.log", "wb") as log:
            self.processes.append(subprocess.Popen([sys.executable, "-m", "dask", *command], cwd=ROOT, stdout=log, stderr=log,
                                                   env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}))
        return self.processes[-1]


def wait(until, seconds):
    """Until something is true, or an AssertionError."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)
