#!/bin/sh
# ask.sh NAME ORIGIN KEY: prints a statement of the upstream NAME for the instance at ORIGIN. KEY is the file that `openssl genpkey`
# wrote. docs/integrate/ask-and-answer.md.
set -eu
signed=$(mktemp)
trap 'rm -f "$signed"' EXIT
encode() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

now=$(date +%s)
header=$(printf '{"alg":"EdDSA","typ":"JWT"}' | encode)
claims=$(printf '{"iss":"%s","aud":"%s","iat":%d,"exp":%d}' "$1" "$2" "$now" $((now + 60)) | encode)
printf '%s.%s' "$header" "$claims" >"$signed"
printf '%s.%s.%s\n' "$header" "$claims" "$(openssl pkeyutl -sign -rawin -inkey "$3" -in "$signed" | encode)"
