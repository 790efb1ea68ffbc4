#!/bin/sh
# Does what the official entrypoint does at a first start, in its order, and then runs the given command.
set -eu
export PGDATA=/var/lib/postgresql/18/docker
as_postgres() { setpriv --reuid=70 --regid=70 --clear-groups "$@"; }

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chown -R 70:70 /var/lib/postgresql
  password=$(mktemp)
  cat "$POSTGRES_PASSWORD_FILE" >"$password"
  chown 70:70 "$password"
  as_postgres initdb --username="$POSTGRES_USER" --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  as_postgres pg_ctl --wait start --options="-c listen_addresses='' -c unix_socket_directories=/tmp" >/dev/null
  as_postgres psql --quiet --host=/tmp --username="$POSTGRES_USER" --dbname=postgres --command="create database $POSTGRES_DB"
  for file in /docker-entrypoint-initdb.d/*.sql; do
    as_postgres psql --quiet --set=ON_ERROR_STOP=1 --host=/tmp --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --file="$file"
  done
  as_postgres pg_ctl --wait stop >/dev/null
fi
exec setpriv --reuid=70 --regid=70 --clear-groups "$@" -c "listen_addresses=*" -c unix_socket_directories=/tmp
