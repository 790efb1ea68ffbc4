"""A room behind Gatehouse's gateway, with a database of its own: the standard library and nothing else.
docs/tutorials/chat-in-an-hour.md builds it step by step."""

import json
import os
import queue
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True  # Nothing is written beside the sources.

from asks import Gatehouse, read_seed  # noqa: E402
from callers import Callers, InvalidCaller, KeysUnavailable  # noqa: E402
from nats import Nats  # noqa: E402

NAME = "rooms"
MAX_TEXT, PAGE, AUDIENCE, EXPORT_PAGE = 2000, 50, 1000, 100
CATCH_UP_SECONDS, ONLINE_SECONDS = 3600, 5
SCHEMA = """
    create table if not exists people (id text primary key, name text not null, version integer not null default 0);
    create table if not exists messages (
        id integer primary key autoincrement, person text not null references people (id) on delete cascade,
        text text not null, at integer not null);
    create table if not exists gone (id text primary key);
    create table if not exists told (version integer not null);
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
        """Whether it is for the first time."""
        with self.lock, self.database as db:
            if db.execute("select 1 from gone where id = ?", [person]).fetchone():
                raise Gone
            sql = "insert into people (id, name) values (?, ?) on conflict do nothing"
            return db.execute(sql, [person, name]).rowcount == 1

    def learn(self, account):
        """What Gatehouse says of an account. The higher version is the newer."""
        if account["isDeleted"]:
            return self.forget(account["id"])
        name, version = account["displayName"] or account["username"], account["version"]
        with self.lock, self.database as db:
            sql = "update people set name = ?, version = ? where id = ? and version <= ?"
            db.execute(sql, [name, version, account["id"], version])

    def told(self):
        """The version up to which Gatehouse has told what changed."""
        with self.lock:
            return (self.database.execute("select version from told").fetchone() or [0])[0]

    def keep_told(self, version):
        with self.lock, self.database as db:
            db.execute("delete from told")
            db.execute("insert into told values (?)", [version])

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

    def messages_of(self, person, after):
        """A page of the oldest beyond an id."""
        sql = "select id, text, at from messages where person = ? and id > ? order by id limit ?"
        with self.lock:
            rows = self.database.execute(sql, [person, after, EXPORT_PAGE]).fetchall()
        return [{"id": str(row[0]), "text": row[1], "at": row[2]} for row in rows]

    def people(self):
        """Names by ids."""
        with self.lock:
            return dict(self.database.execute("select id, name from people order by id"))


class Room:
    def __init__(self, store, nats, gatehouse):
        self.store, self.nats, self.gatehouse = store, nats, gatehouse
        self.online, self.online_until, self.asking = set(), 0, threading.Lock()
        self.changed = threading.Event()
        subject = f"gatehouse.upstream.{NAME}"
        nats.subscribe(f"{subject}.message", self.on_message, NAME)
        nats.subscribe(f"{subject}.ready", self.on_ready, NAME)
        for question in (self.audience, self.export, self.deletion):
            nats.subscribe(f"{subject}.{question.__name__}", self.answering(question), NAME)
        self.pull("gatehouse-events", "UserDeleted")
        self.pull("gatehouse-changes", "ProfileChanged")
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        """Asks what changed at each start, after each event, and each hour: events are kept for a day only."""
        while True:
            self.changed.clear()
            try:
                for accounts, version in self.gatehouse.changes(self.store.told()):
                    for account in accounts:
                        self.store.learn(account)
                    self.store.keep_told(version)
                self.changed.wait(CATCH_UP_SECONDS)
            except OSError:
                time.sleep(1)  # Gatehouse is away.

    def meet(self, person, name):
        if self.store.meet(person, name):
            try:
                for account in self.gatehouse.accounts([person]):
                    self.store.learn(account)
            except OSError:
                pass  # The name of the statement will do until the next change.

    def people(self):
        """At most 1,000, of whom Gatehouse says every 5 s who is online."""
        people = list(self.store.people().items())[:1000]
        with self.asking:
            if people and self.online_until < time.monotonic():
                self.online = self.gatehouse.online([person for person, _ in people])
                self.online_until = time.monotonic() + ONLINE_SECONDS
        return [{"id": person, "name": name, "online": person in self.online} for person, name in people]

    def say(self, person, name, text):
        """The id of the message. Raises ValueError with a sentence, or Gone."""
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise ValueError(f"A text of 1 to {MAX_TEXT} characters is needed")
        self.meet(person, name)
        message = {"type": "rooms.said", "id": self.store.say(person, text), "text": text, "author": {"id": person}}
        people = list(self.store.people())
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

    def answering(self, question):
        return lambda message: self.nats.publish(message.reply, question(message.json()))

    def audience(self, asked):
        """Everybody in the room sees everybody come and go."""
        people = list(self.store.people())[:10_000]
        here = set(people)
        return {"groups": [{"users": [person for person in asked["users"] if person in here], "audience": people}]}

    def export(self, asked):
        rows = self.store.messages_of(asked["userId"], int(asked.get("after", 0)))
        return {"rows": rows} | ({"next": rows[-1]["id"]} if len(rows) == EXPORT_PAGE else {})

    def deletion(self, asked):
        self.store.forget(asked["userId"])
        return {"done": True}

    def pull(self, stream, event):
        """An event comes to the inbox with its own subject, and again after 30 s unless it is acknowledged."""
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
                    self.changed.set()
                    self.nats.publish(message.reply, b"+ACK")
                elif " 503" in message.headers:
                    time.sleep(1)  # The consumer is not there yet.

        threading.Thread(target=run, daemon=True).start()


def handler_for(room, callers):
    def say(caller, body):
        return room.say(caller["sub"], caller["username"], read_text(body))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer({
                "/api/rooms/hall": lambda caller: (200, {"messages": room.store.messages()}),
                "/api/rooms/hall/people": lambda caller: (200, {"people": room.people()}),
            })

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self.answer({"/api/rooms/hall": lambda caller: (201, {"id": say(caller, body)})})

        def answer(self, routes):
            try:
                caller = callers.verify(self.headers.get("x-gatehouse-caller"))
                act = routes.get(self.path)
                status, reply = act(caller) if act else (404, "There is no such room")
            except InvalidCaller:
                status, reply = 503, "The request did not come through the gateway"
            except KeysUnavailable:
                status, reply = 503, "The keys of the gateway cannot be fetched"
            except Gone:
                status, reply = 403, "This account has been deleted"
            except OSError:
                status, reply = 503, "Gatehouse cannot be asked"
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
    gateway = environment.get("GATEWAY_URL") or origin
    callers = Callers(NAME, origin, f"{gateway}/api/upstream-keys")
    nats = Nats(environment["NATS_URL"], NAME)
    gatehouse = Gatehouse(NAME, origin, gateway, read_seed(environment["KEY"]))
    room = Room(Store(environment["DATABASE"]), nats, gatehouse)
    nats.start()
    server = ThreadingHTTPServer(("127.0.0.1", int(environment.get("PORT") or 9100)), handler_for(room, callers))
    print("rooms: listening", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
