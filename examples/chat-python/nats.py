"""A client of NATS, as much of it as an upstream needs: publish, subscribe, and connect again."""

import json
import queue
import random
import socket
import threading
import time
from urllib.parse import urlsplit


class Message:
    def __init__(self, subject, reply, headers, data):
        self.subject, self.reply, self.headers, self.data = subject, reply, headers, data

    def json(self):
        return json.loads(self.data)


class Nats:
    """`url` as nats://user:password@host:4222. Handlers run one after the other, in a thread of their subscription."""

    def __init__(self, url, inbox):
        self.url, self.inbox = urlsplit(url), f"_INBOX_{inbox}.{random.randbytes(9).hex()}"
        self.subscriptions = {}
        self.lock, self.connected = threading.Lock(), threading.Event()
        self.socket = None

    def start(self):
        """After the last `subscribe`. Connects again by itself."""
        threading.Thread(target=self._run, daemon=True).start()

    def publish(self, subject, data=b"", reply=""):
        """Waits for a connection. What is on its way when one breaks is lost."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.connected.wait()
        self._send(f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n")

    def subscribe(self, subject, handle, group=""):
        messages = queue.SimpleQueue()
        sid = str(len(self.subscriptions) + 1)
        self.subscriptions[sid] = (f"SUB {subject} {group} {sid}\r\n".encode(), messages)

        def serve():
            while True:
                handle(messages.get())

        threading.Thread(target=serve, daemon=True).start()

    def _send(self, data):
        try:
            with self.lock:
                self.socket.sendall(data)
        except OSError:
            self.connected.clear()

    def _run(self):
        while True:
            try:
                self._read()
            except (OSError, ValueError):
                pass
            self.connected.clear()
            time.sleep(1)

    def _read(self):
        with socket.create_connection((self.url.hostname, self.url.port or 4222), timeout=5) as connection:
            connection.settimeout(None)
            lines = connection.makefile("rb")
            lines.readline()  # INFO
            options = {"verbose": False, "pedantic": False, "lang": "python", "version": "1", "headers": True}
            if self.url.username:
                options |= {"user": self.url.username, "pass": self.url.password or ""}
            start = f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode()
            connection.sendall(start + b"".join(line for line, _ in self.subscriptions.values()))
            self.socket = connection
            while line := lines.readline():
                word, *given = line.decode().split()
                if word == "PING":
                    self._send(b"PONG\r\n")
                elif word == "PONG":
                    self.connected.set()
                elif word in ("MSG", "HMSG"):
                    self._receive(lines, word == "HMSG", given)

    def _receive(self, lines, has_headers, given):
        subject, sid, *rest = given
        total = int(rest.pop())
        head = int(rest.pop()) if has_headers else 0
        payload = lines.read(total + 2)[:-2]
        message = Message(subject, rest[0] if rest else "", payload[:head].decode(), payload[head:])
        self.subscriptions[sid][1].put(message)
