"""Runs one command in its own process group and ends the group when its owner is gone.

    python guard.py COMMAND [ARG …]        standard input: a pipe that the owner holds open

A notebook kernel can be killed without a chance to clean up, and an orphaned engine holds its memory
(vLLM issue 55510).  The owner keeps the write end of this process's standard input; when the owner ends,
in whatever way, the pipe closes and the group gets TERM and, after a grace, KILL.  Started as the leader of
a group of its own.  Standard library only: this starts before everything else.
"""

import os
import signal
import subprocess
import sys
import threading
import time

GRACE_SECONDS = 10.0
owner_gone = threading.Event()


def main() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # TERM to the group is meant for the command
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=_default_signals)
    watcher = threading.Thread(target=_end_with_owner, daemon=True)
    watcher.start()
    code = child.wait()
    if owner_gone.is_set():
        watcher.join()  # others of the group may have outlived the command
    return code


def _default_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with_owner() -> None:
    while os.read(0, 4096):  # returns b"" once no owner holds the pipe
        pass
    owner_gone.set()
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while _others_run() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(0, signal.SIGKILL)


def _others_run() -> bool:
    """Whether the group holds a process besides this one (Linux: /proc; zombies do not run)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                state, _, group = stat.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) == os.getpid() != int(pid) and state != "Z":
            return True
    return False


if __name__ == "__main__":
    code = main()
    sys.exit(code if code >= 0 else 128 - code)
