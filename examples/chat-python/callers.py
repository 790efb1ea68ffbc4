"""Who is calling: the statement of the gateway, a JWT signed with Ed25519 (RFC 8032). docs/integrate/http-requests.md."""

import base64
import hashlib
import json
import threading
import time
import urllib.request

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


class InvalidCaller(Exception):
    """Answer 503: a client takes a 401 for an ended session."""


class KeysUnavailable(Exception):
    """Answer 503."""


def verify_signature(key, text, signature):
    """Whether `signature` (64 bytes) is of `text` by `key` (32 bytes). Only public values are computed with."""
    if len(key) != 32 or len(signature) != 64:
        return False
    point, r, s = decode_point(key), signature[:32], int.from_bytes(signature[32:], "little")
    if point is None or s >= ORDER:
        return False
    digest = hashlib.sha512(r + key + text).digest()
    h = int.from_bytes(digest, "little") % ORDER
    x, y, z, t = point
    minus = (-x % P, y, z, -t % P)
    return encode_point(add(multiply(s, BASE), multiply(h, minus))) == r


def add(one, other):
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(number, point):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def decode_point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def encode_point(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, "little")


BASE = decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Callers:
    """Fetches the keys when a statement names one that it lacks, at most every 30 s."""

    def __init__(self, name, origin, keys_url):
        self.name, self.origin, self.keys_url = name, origin, keys_url
        self.keys, self.looked_at, self.lock = {}, -30.0, threading.Lock()

    def verify(self, statement):
        """The claims. `sub` is missing where nobody is signed in."""
        try:
            head, body, signature = (statement or "").split(".")
            header, claims = json.loads(from_base64url(head)), json.loads(from_base64url(body))
            key = self._key(header["kid"])
            is_signed = header["alg"] == "EdDSA" and key is not None
            if not is_signed or not verify_signature(key, f"{head}.{body}".encode(), from_base64url(signature)):
                raise ValueError
            if (claims["aud"], claims["iss"]) != (self.name, self.origin) or claims["exp"] < time.time() - 5:
                raise ValueError
            return claims
        except (ValueError, KeyError, TypeError) as fault:
            raise InvalidCaller from fault

    def _key(self, kid):
        with self.lock:
            if kid not in self.keys and time.monotonic() - self.looked_at >= 30:
                self.looked_at = time.monotonic()
                try:
                    with urllib.request.urlopen(self.keys_url, timeout=5) as answer:
                        found = json.load(answer)["keys"]
                except OSError as fault:
                    self.looked_at = -30.0
                    raise KeysUnavailable from fault
                self.keys = {one["kid"]: from_base64url(one["x"]) for one in found}
            return self.keys.get(kid)
