"""A client of what /api/openapi.json says, and of nothing else: finds operations by their names, checks what it sends and gets
against their schemas, and fails for a reference that leads nowhere. Usage: openapi-client.py ORIGIN"""

import json
import re
import sys
import urllib.error
import urllib.request

ORIGIN = sys.argv[1]
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


def fetch(method, path, token=None, body=None):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if body is not None:
        headers["content-type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(ORIGIN + path, data, headers, method=method), timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


DOCUMENT = fetch("GET", "/api/openapi.json")[1]
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def resolve(schema):
    while "$ref" in schema:
        target = DOCUMENT
        for name in schema["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        schema = target
    return schema


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def faults(schema, value, place="body"):
    """What is wrong with a value, by the words of JSON Schema that the document has."""
    schema = resolve(schema)
    for words, count in (("anyOf", lambda fitting: fitting > 0), ("oneOf", lambda fitting: fitting == 1)):
        if words in schema and not count(sum(not faults(one, value, place) for one in schema[words])):
            return [f"{place}: fits not {words}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) and (kind == "boolean") == isinstance(value, bool) for kind in kinds):
        return [f"{place}: is no {kinds}"]
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        return [f"{place}: is another value"]
    if isinstance(value, str):
        fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return [] if fits and re.search(schema.get("pattern", ""), value) else [f"{place}: is another text"]
    if isinstance(value, list):
        return [fault for index, item in enumerate(value) for fault in faults(schema.get("items", {}), item, f"{place}[{index}]")]
    if not isinstance(value, dict):
        return []
    missing = [f"{place}.{name}: is missing" for name in schema.get("required", []) if name not in value]
    known = schema.get("properties", {})
    return missing + [fault for name in value if name in known for fault in faults(known[name], value[name], f"{place}.{name}")]


def call(name, token=None, body=None, **parameters):
    """The status and the answer. Exits where the document does not describe them."""
    method, path, operation = OPERATIONS[name]
    declared = {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
    if declared != set(parameters) or ("security" in operation) < (token is not None):
        sys.exit(f"{name}: takes {declared}, security {operation.get('security')}")
    status, answer = fetch(method, path.format(**parameters), token, body)
    described = operation["responses"].get(str(status))
    if not described:
        sys.exit(f"{name}: {status} is not described")
    found = faults(described["content"]["application/json"]["schema"], answer)
    if found:
        sys.exit(f"{name} {status}: {found}")
    return status, answer


def body_faults(name, body):
    return faults(OPERATIONS[name][2]["requestBody"]["content"]["application/json"]["schema"], body)


def expect(found, expected):
    if found != expected:
        sys.exit(f"{found} in place of {expected}")


for reference in references(DOCUMENT):
    resolve(reference)
account = {"username": "python", "password": "a long password"}
expect(body_faults("register", account), [])
expect(len(body_faults("register", {"username": "ab"})), 2)
status, signed_in = call("register", body=account)
expect(status, 201)
token, user = signed_in["token"], signed_in["user"]["id"]
expect(call("getSelf", token)[1]["id"], user)
expect(call("patchSelf", token, {"displayName": "Monty"})[1]["displayName"], "Monty")
expect(call("getUser", token, id=user)[1]["displayName"], "Monty")
expect(body_faults("patchSelf", {"bio": "x" * 191}), ["body.bio: fits not anyOf"])
status, refusal = call("patchSelf", token, {"bio": "x" * 191})
expect((status, refusal["code"], refusal["details"]["max"]), (400, "bio_too_long", 190))
expect((call("getSelf")[0], call("getSelf", "no token")[1]["code"]), (401, "invalid_token"))
expect(call("register", body=account)[1]["code"], "username_taken")
expect(call("login", body=account | {"password": "another password"})[1]["code"], "invalid_credentials")
expect(call("getUser", token, id="1")[1]["code"], "user_unknown")
expect(call("health")[1], {"status": "ok"})
print(f"{len(OPERATIONS)} operations, {len(DOCUMENT['components']['schemas'])} schemas")
