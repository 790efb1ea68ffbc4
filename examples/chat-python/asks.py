"""What the room asks Gatehouse, by statements that it signs itself (RFC 8032). docs/integrate/ask-and-answer.md."""

import base64
import hashlib
import json
import time
import urllib.error
import urllib.request

from callers import BASE, ORDER, encode_point, multiply


def sign(seed, text):
    """64 bytes, by the 32 of a private key."""
    digest = hashlib.sha512(seed).digest()
    number = int.from_bytes(digest[:32], "little") & (1 << 254) - 8 | 1 << 254
    key = encode_point(multiply(number, BASE))
    r = int.from_bytes(hashlib.sha512(digest[32:] + text).digest(), "little") % ORDER
    point = encode_point(multiply(r, BASE))
    h = int.from_bytes(hashlib.sha512(point + key + text).digest(), "little") % ORDER
    return point + ((r + h * number) % ORDER).to_bytes(32, "little")


def read_seed(path):
    """Of the file that `openssl genpkey -algorithm ed25519` writes: the seed is its end."""
    with open(path) as file:
        return base64.b64decode("".join(line for line in file if not line.startswith("-----")))[-32:]


def to_base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Gatehouse:
    """Each method raises OSError when Gatehouse does not answer, or refuses."""

    def __init__(self, name, origin, gateway, seed):
        self.name, self.origin, self.gateway, self.seed = name, origin, gateway, seed

    def accounts(self, ids):
        """At most 100 ids. Unknown ones are absent."""
        return self._ask("accounts", {"ids": ids})["accounts"]

    def online(self, ids):
        """Those of at most 1,000 ids who are online."""
        return set(self._ask("presence", {"ids": ids})["presences"])

    def changes(self, after):
        """Pages of (accounts, where to go on), from 0 everybody. Begins anew where the instance has lost the version."""
        more = True
        while more:
            try:
                page = self._ask(f"accounts/changes?after={after}")
            except urllib.error.HTTPError as refusal:
                if refusal.code != 409 or after == 0:
                    raise
                after = 0
                continue
            yield page["accounts"], page["next"]
            after, more = page["next"], page["more"]

    def _ask(self, path, body=None):
        now = int(time.time())
        claims = {"iss": self.name, "aud": self.origin, "iat": now, "exp": now + 60}
        signed = b".".join(to_base64url(json.dumps(part).encode()) for part in ({"alg": "EdDSA"}, claims))
        statement = signed + b"." + to_base64url(sign(self.seed, signed))
        headers = {"authorization": "Upstream " + statement.decode(), "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.gateway}/api/upstream/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=3) as answer:
            return json.load(answer)
