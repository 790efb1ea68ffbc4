#!/bin/sh
# The command line in the image: `docker compose exec gateway gatehouse users list`.
exec node --disable-warning=ExperimentalWarning /app/deploy/cli/main.ts "$@"
