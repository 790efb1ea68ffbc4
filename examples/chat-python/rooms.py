"""A room behind Gatehouse's gateway, with a database of its own: the standard library and nothing else.
docs/chat-in-an-hour.md builds it step by step."""

import json
import os
import queue
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True  # Nothing is written beside the sources.

from callers import Callers, InvalidCaller, KeysUnavailable  # noqa: E402
from nats import Nats  # noqa: E402

NAME = "rooms"
MAX_TEXT, PAGE, AUDIENCE = 2000, 50, 1000
SCHEMA = """
    create table if not exists people (id text primary key, name text not null);
    create table if not exists messages (
        id integer primary key autoincrement, person text not null references people (id) on delete cascade,
        text text not null, at integer not null);
    create table if not exists gone (id text primary key);
"""


class Gone(Exception):
    """The account was deleted: what comes late in its name is refused."""


class Store:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute("pragma foreign_keys = on")
        self.database.executescript(SCHEMA)

    def meet(self, person, name):
        with self.lock, self.database as db:
            if db.execute("select 1 from gone where id = ?", [person]).fetchone():
                raise Gone
            db.execute("insert into people values (?, ?) on conflict do nothing", [person, name])

    def rename(self, person, name):
        with self.lock, self.database as db:
            db.execute("update people set name = ? where id = ?", [name, person])

    def forget(self, person):
        with self.lock, self.database as db:
            db.execute("insert into gone values (?) on conflict do nothing", [person])
            db.execute("delete from people where id = ?", [person])

    def say(self, person, text):
        with self.lock, self.database as db:
            sql = "insert into messages (person, text, at) values (?, ?, ?)"
            return str(db.execute(sql, [person, text, int(time.time() * 1000)]).lastrowid)

    def messages(self):
        with self.lock:
            rows = self.database.execute(
                """select m.id, m.text, m.at, p.id, p.name from messages m join people p on p.id = m.person
                   order by m.id desc limit ?""",
                [PAGE],
            ).fetchall()
        keys = ("id", "text", "at")
        return [dict(zip(keys, (str(row[0]), *row[1:3]))) | {"author": {"id": row[3], "name": row[4]}} for row in rows]

    def people(self):
        with self.lock:
            return [row[0] for row in self.database.execute("select id from people order by id")]


class Room:
    def __init__(self, store, nats):
        self.store, self.nats = store, nats
        subject = f"gatehouse.upstream.{NAME}"
        nats.subscribe(f"{subject}.message", self.on_message, NAME)
        nats.subscribe(f"{subject}.ready", self.on_ready, NAME)
        self.pull("gatehouse-events", "UserDeleted", self.on_deleted)
        self.pull("gatehouse-changes", "ProfileChanged", self.on_profile)

    def say(self, person, name, text):
        """The id of the message. Raises ValueError with a sentence, or Gone."""
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise ValueError(f"A text of 1 to {MAX_TEXT} characters is needed")
        self.store.meet(person, name)
        message = {"type": "rooms.said", "id": self.store.say(person, text), "text": text, "author": {"id": person}}
        people = self.store.people()
        for start in range(0, len(people), AUDIENCE):
            to = {"users": people[start : start + AUDIENCE]}
            self.nats.publish(f"gatehouse.upstream.{NAME}.deliver", {"to": to, "message": message})
        return message["id"]

    def on_message(self, message):
        given = message.json()
        try:
            answer = {"ok": True, "id": self.say(given["userId"], given["username"], given["message"].get("text"))}
        except ValueError as fault:
            answer = {"error": str(fault)}
        except Gone:
            answer = {"error": "This account has been deleted"}
        self.nats.publish(message.reply, answer)

    def on_ready(self, message):
        self.nats.publish(message.reply, {"rooms": [{"id": "hall", "messages": self.store.messages()}]})

    def on_deleted(self, event):
        self.store.forget(event["userId"])

    def on_profile(self, event):
        profile = event["profile"]
        self.store.rename(event["userId"], profile.get("displayName") or profile["username"])

    def pull(self, stream, event, handle):
        """Acknowledged when handled; without that it comes again after 30 s. An event comes to the inbox with its own subject."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.upstream_{NAME}_{event}"
        inbox, answers = f"{self.nats.inbox}.{event}", queue.SimpleQueue()
        self.nats.subscribe(inbox, answers.put)

        def run():
            while True:
                self.nats.publish(subject, {"batch": 1, "expires": 5_000_000_000}, inbox)
                try:
                    message = answers.get(timeout=6)
                except queue.Empty:
                    continue  # NATS is away.
                if message.reply.startswith("$JS.ACK."):
                    handle(message.json())
                    self.nats.publish(message.reply, b"+ACK")
                elif " 503" in message.headers:
                    time.sleep(1)  # The consumer is not there yet.

        threading.Thread(target=run, daemon=True).start()


def handler_for(room, callers):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer(lambda caller: (200, {"messages": room.store.messages()}))

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self.answer(lambda caller: (201, {"id": room.say(caller["sub"], caller["username"], read_text(body))}))

        def answer(self, act):
            try:
                caller = callers.verify(self.headers.get("x-gatehouse-caller"))
                status, reply = act(caller) if self.path == "/api/rooms/hall" else (404, "There is no such room")
            except InvalidCaller:
                status, reply = 503, "The request did not come through the gateway"
            except KeysUnavailable:
                status, reply = 503, "The keys of the gateway cannot be fetched"
            except Gone:
                status, reply = 403, "This account has been deleted"
            except ValueError as fault:
                status, reply = 400, str(fault)
            error = {"error": reply, "statusCode": status}
            body = json.dumps(reply if status < 400 else error).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def read_text(body):
    try:
        return json.loads(body)["text"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("A JSON object with a text is needed") from None


def main():
    environment = os.environ
    origin = environment["PUBLIC_ORIGIN"]
    callers = Callers(NAME, origin, environment.get("KEYS_URL") or f"{origin}/api/upstream-keys")
    nats = Nats(environment["NATS_URL"], NAME)
    room = Room(Store(environment["DATABASE"]), nats)
    nats.start()
    server = ThreadingHTTPServer(("127.0.0.1", int(environment.get("PORT") or 9100)), handler_for(room, callers))
    print("rooms: listening", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
