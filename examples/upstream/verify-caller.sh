#!/bin/sh
# verify-caller.sh NAME ISSUER KEYS: reads the value of X-Gatehouse-Caller, and prints its claims or fails.
# KEYS is a file with the response to GET /api/upstream-keys. docs/integrate/http-requests.md.
set -eu
name=$1 issuer=$2 keys=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# base64url has no padding, and two other characters.
decode() {
  text=$(printf '%s' "$1" | tr '_-' '/+')
  while [ $((${#text} % 4)) -ne 0 ]; do text="$text="; done
  printf '%s' "$text" | openssl base64 -d -A
}
# Reads a field of JSON without white space and without quotes in texts.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
fail() { echo "$1" >&2; exit 1; }

IFS=. read -r header claims signature rest || [ -n "$signature" ]
[ -z "${rest:-}" ] || fail 'not three parts'

# 1. The algorithm and the key.
[ "$(decode "$header" | field alg)" = EdDSA ] || fail 'another algorithm'
kid=$(decode "$header" | field kid)
[ -n "$kid" ] || fail 'no key is named'
x=$(tr '{' '\n' <"$keys" | grep -F "\"kid\":\"$kid\"" | field x) || fail 'an unknown key'

# 2. The signature. A public key in DER is a prefix of twelve bytes and the 32 bytes of x.
{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'; decode "$x"; } >"$folder/key"
printf '%s.%s' "$header" "$claims" >"$folder/signed"
decode "$signature" >"$folder/signature"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$folder/key" -rawin \
  -in "$folder/signed" -sigfile "$folder/signature" >"$folder/output" 2>&1 || fail 'a wrong signature'

# 3. The audience and the issuer. 4. The expiry.
[ "$(decode "$claims" | field aud)" = "$name" ] || fail 'for another upstream'
[ "$(decode "$claims" | field iss)" = "$issuer" ] || fail 'of another instance'
[ "$(decode "$claims" | field exp)" -gt "$(date +%s)" ] || fail 'expired'

# 5. The claims are valid.
decode "$claims"
