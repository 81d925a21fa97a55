"""Starts a server as a command, prints its port when it is ready, and ends it when this process is asked to end."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_end() -> None:
    """Returns when this process is asked to end."""
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    while not asked.wait(0.2):
        pass


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


def serve(command: list[str], port: int, ready_path: str) -> None:
    # Its output is not the line with the port; its whole group ends with it.
    child = subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)

    def end(*_: object) -> None:
        os.killpg(child.pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    while child.poll() is None and not is_ready(f"http://127.0.0.1:{port}{ready_path}"):
        time.sleep(0.2)
    if child.poll() is None:
        print(port, flush=True)
    sys.exit(child.wait())
