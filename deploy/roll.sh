#!/bin/sh
# Upgrades a Docker Compose instance, one container after the other: sh deploy/roll.sh
# Build or pull the image first. Each service gets new containers next to the old ones. The old ones stop when the new ones are
# healthy and in use. Gateways are replaced one by one, because each uses a port of this machine. With two gateways and a proxy
# that tries the other one, no request is lost. With one gateway, the port is closed for a second or two.
set -eu
grace=40
# Seconds until others use a container that has just become healthy: a gateway resolves names every two seconds, which may take
# six while containers start, and a proxy asks a gateway again some ten seconds after it was away.
settle=15

docker compose run --rm --no-deps migrate

stop() {
  docker stop --time "$grace" "$1" >/dev/null
  docker rm "$1" >/dev/null
}

# add COUNT SERVICE: waits until that many containers are healthy; those that run are left as they are.
add() {
  docker compose up --detach --no-deps --no-recreate --wait --scale "$2=$1" "$2"
}

# All with a user of NATS.
services=$(sed -n 's/^ *user: \([a-z-]*\), password.*/\1/p' "$(dirname "$0")/nats/nats.conf" | grep -vx gateway | tr '\n' ' ')
for service in $services; do
  old=$(docker compose ps --quiet "$service")
  if [ -z "$old" ]; then
    echo "roll.sh: no container of $service is running. Skipping this service."
    continue
  fi
  count=$(printf '%s\n' "$old" | grep -c .)
  add $((count * 2)) "$service"
  sleep "$settle"
  for container in $old; do stop "$container"; done
done

old=$(docker compose ps --quiet gateway)
[ -n "$old" ] || docker compose up --detach --no-deps --no-recreate --wait gateway
for container in $old; do
  stop "$container"
  add "$(printf '%s\n' "$old" | grep -c .)" gateway
  sleep "$settle"
done
