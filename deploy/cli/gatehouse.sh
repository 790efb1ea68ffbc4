#!/bin/sh
# The command line in the image: `docker compose run --rm operator users list`.
exec node --disable-warning=ExperimentalWarning --enable-source-maps /app/deploy/cli/main.mjs "$@"
