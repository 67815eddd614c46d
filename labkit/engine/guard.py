"""Runs one command in its own process group and ends the group when its owner is gone.

    python guard.py COMMAND [ARG …]        standard input: a pipe that the owner holds open

A notebook kernel can be killed without a chance to clean up, and an orphaned engine holds its memory
(vLLM issue 55510).  The owner keeps the write end of this process's standard input; when the owner ends,
in whatever way, the pipe closes and the group gets TERM and, after a grace, KILL.  Standard library
only: this starts before everything else.
"""

import os
import signal
import subprocess
import sys
import threading
import time

GRACE_SECONDS = 10.0


def main() -> int:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # TERM to the group is meant for the command
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, preexec_fn=_default_signals)
    threading.Thread(target=_end_with_owner, args=(child,), daemon=True).start()
    return child.wait()


def _default_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with_owner(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):  # returns b"" once no owner holds the pipe
        pass
    os.killpg(0, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = main()
    sys.exit(code if code >= 0 else 128 - code)
