"""Own process group, stopped without a trace, ended with its owner, never anyone else's."""

import os
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from labkit.engine.process import ServerProcess, free_port
from labkit.errors import ConfigError

LISTEN = "import socket,sys,time; s=socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"
FORKS = (
    "import subprocess,sys,time; subprocess.Popen([sys.executable,'-c','import time; time.sleep(60)']); time.sleep(60)"
)
STUBBORN = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def start(tmp_path, code, *args, env=None):
    return ServerProcess([sys.executable, "-c", code, *args], env=env or {}, log_path=tmp_path / "log")


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def test_stop_ends_children_too(tmp_path):
    process = start(tmp_path, FORKS)
    until(lambda: len(process.members()) == 3)  # the guard, the command, its child
    pids = [member.pid for member in process.members()]
    process.stop()
    assert process.members() == []
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    assert not process.alive()
    process.stop()  # twice is fine


def test_a_process_that_ignores_term_is_killed(tmp_path):
    process = start(tmp_path, STUBBORN)
    until(lambda: process.log_path.read_text() == "up\n")
    process.stop(grace=0.5)
    assert process.members() == []


def test_the_group_ends_when_its_owner_is_killed(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c",
         "import sys,time; from pathlib import Path; from labkit.engine.process import ServerProcess\n"
         f"p = ServerProcess([sys.executable, '-c', {FORKS!r}], env={{}}, log_path=Path({str(tmp_path / 'log')!r}))\n"
         "print(p.pid, flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    group = int(owner.stdout.readline())

    def alive():
        found = []
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
            except (psutil.Error, ProcessLookupError):
                continue
        return found

    until(lambda: len(alive()) == 3)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    until(lambda: not alive(), seconds=15)


def test_who_listens(tmp_path):
    port = free_port()
    process = start(tmp_path, LISTEN, str(port))
    until(lambda: process.listens_on(port))
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert not process.listens_on(other.getsockname()[1])
    with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 is taken.*leave 'port' out"):
        free_port(port)
    process.stop()


def test_environment_and_end(tmp_path):
    process = start(tmp_path, "import os; print(os.environ['LABKIT_X'])", env={"LABKIT_X": "seen"})
    until(lambda: not process.alive())
    assert process.log_path.read_text() == "seen\n"
    process.stop()


def test_last_words_are_the_cause_and_not_the_noise(tmp_path):
    said = [
        "loading",
        "Traceback (most recent call last):",
        "  File 'x.py', line 1",
        "ValueError: K is too large",
        "nanobind: leaked 5",
    ]
    code = f"print('\\n'.join({said!r}))"
    process = start(tmp_path, code)
    until(lambda: not process.alive())
    assert process.last_words() == "loading\nValueError: K is too large"
    process.stop()
