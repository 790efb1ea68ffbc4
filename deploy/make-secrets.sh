#!/bin/sh
# Creates a distributed instance's secrets, one file for each: sh deploy/make-secrets.sh [folder [upstream…]]
# For each upstream that you name, also creates a NATS user, and nats.conf with all of them.
# Needs a POSIX shell, and openssl for the keys that sign callers. Existing secrets stay as they are.
set -eu
# All with a user of NATS.
services=$(sed -n 's/^ *user: \([a-z-]*\), password.*/\1/p' "$(dirname "$0")/nats/nats.conf" | grep -vx gateway | tr '\n' ' ')
folder=${1:-deploy/secrets}
[ $# -eq 0 ] || shift
refuse() {
  echo "make-secrets.sh: $1" >&2
  exit 1
}
for name in "$@"; do
  case " gateway $services " in
  *" $name "*) refuse "$name is a Gatehouse service. Choose another name for the upstream." ;;
  esac
  case $name in
  [!a-z]* | *[!a-z0-9-]* | '')
    refuse "\"$name\" can't be an upstream's name. Use lowercase letters, digits and hyphens, and begin with a letter."
    ;;
  esac
done
if ! openssl genpkey -algorithm ed25519 >/dev/null 2>&1; then
  refuse 'openssl is missing or too old for Ed25519 keys. Install OpenSSL 1.1.1 or LibreSSL 3.7, or a later version.'
fi
mkdir -p "$folder"
chmod 700 "$folder"

# 48 letters and digits: 285 bits, and nothing that a URL or a configuration file would read as its own.
random() { LC_ALL=C tr -dc 'A-Za-z0-9' </dev/urandom 2>/dev/null | head -c 48; }

# The folder is closed to others; the files are open so that containers, which run as other users, can read them.
keep() {
  [ -e "$folder/$1" ] && return 0
  printf '%s' "$2" >"$folder/$1.new"
  chmod 444 "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
}
value() { cat "$folder/$1"; }

keep jwt_secret "$(random)"
# Encrypts at rest: a copy belongs apart from the backups of the database.
keep encryption_secret "$(random)"
# For a rotation: docs/operate/rotate-secrets.md.
keep jwt_secret_previous ''
keep encryption_secret_previous ''
# Of UPLOAD_STORE=s3://…: write the keys of your provider into them.
keep aws_access_key_id ''
keep aws_secret_access_key ''
keep aws_session_token ''
# The file of GATEHOUSE_PROVIDERS: docs/operate/identity-providers.md.
keep identity_providers ''
# The server that sends mail, and its CA: docs/operate/data-services.md.
keep smtp_url ''
keep smtp_ca ''

# Who may say who is calling: the gateway by internal_secret, the operator by operator_secret. Services have the public parts
# alone. Each is a private key of Ed25519 on one line, as openssl prints it between its first and last line.
private_key() { openssl genpkey -algorithm ed25519 | sed -n 2p; }
public_key() {
  printf -- '-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n' "$1" | openssl pkey -pubout | sed -n 2p
}
is_key() { case $1 in MC4CAQAwBQYDK2VwBCIEI*) ;; *) return 1 ;; esac }

keep internal_secret "$(private_key)"
is_key "$(value internal_secret)" ||
  refuse "$folder/internal_secret isn't a private key of Ed25519. Delete it, run this script again, and restart every process."
keep internal_secret_previous ''
keep operator_secret "$(private_key)"
# Made anew at each run, so that it has what a rotation put into internal_secret_previous.
caller_keys="operator $(public_key "$(value operator_secret)")"
for secret in $(value internal_secret) $(value internal_secret_previous); do
  is_key "$secret" || continue
  caller_keys="$caller_keys
gateway $(public_key "$secret")"
done
rm -f "$folder/caller_keys"
keep caller_keys "$caller_keys"

keep postgres_password "$(random)"
keep migrate_database_url "postgres://gatehouse:$(value postgres_password)@postgres:5432/gatehouse"

# A role for each service. What each may do comes with the migrations: libs/database/src/grants.ts.
roles=''
for service in $services; do
  role="gatehouse_$(printf '%s' "$service" | tr '-' '_')"
  keep "postgres_password_$service" "$(random)"
  keep "database_url_$service" "postgres://$role:$(value "postgres_password_$service")@postgres:5432/gatehouse"
  roles="${roles}do \$\$ begin
  if not exists (select from pg_roles where rolname = '$role') then create role $role; end if;
end \$\$;
alter role $role login password '$(value "postgres_password_$service")';
alter role $role set lock_timeout = '2s';
alter role $role set statement_timeout = '15s';
alter role $role set idle_in_transaction_session_timeout = '30s';
"
done
# Made anew, with the services of this release.
rm -f "$folder/database_roles.sql"
keep database_roles.sql "$roles"

keep redis_password "$(random)"
keep redis_url "redis://:$(value redis_password)@redis:6379"
keep redis.conf "requirepass $(value redis_password)
save \"\"
appendonly no
maxmemory 256mb
maxmemory-policy volatile-ttl
rename-command FLUSHALL \"\"
rename-command FLUSHDB \"\"
rename-command CONFIG \"\"
rename-command DEBUG \"\"
"

passwords=''
for service in gateway $services; do
  name=$(printf '%s' "$service" | tr 'a-z-' 'A-Z_')
  keep "nats_password_$service" "$(random)"
  keep "nats_url_$service" "nats://$service:$(value "nats_password_$service")@nats:4222"
  passwords="$passwords${name}_PASSWORD: \"$(value "nats_password_$service")\"
"
done
rm -f "$folder/nats_passwords.conf"
keep nats_passwords.conf "$passwords"
# A user for each upstream, also for those of an earlier run: it may use its own subjects, inboxes and consumers only.
for name in "$@"; do
  keep "nats_password_upstream-$name" "$(random)"
  keep "nats_url_upstream-$name" "nats://upstream-$name:$(value "nats_password_upstream-$name")@nats:4222"
done
# Those that JetStream keeps: docs/reference/events.md. A subject has no wildcard for a part of a word.
events='UserCreated PasswordChanged PasswordReset SessionsEnded UserSuspended UserUnsuspended UserDeleted RoleChanged SecondFactorChanged ProfileChanged DeletedPresence
  InviteCreated InviteRedeemed InviteChanged InviteRevoked InviteReinstated InviteDeleted SettingsChanged PeerChanged'
# What it may be asked.
questions='message ready audience owned-spaces members export deletion'
users=''
for file in "$folder"/nats_password_upstream-*; do
  [ -e "$file" ] || continue
  name=${file##*/nats_password_upstream-}
  consumers=''
  for event in $events; do
    case $event in
    PasswordChanged | PasswordReset | SessionsEnded | UserSuspended | UserDeleted | RoleChanged | SecondFactorChanged) stream=gatehouse-events ;;
    *) stream=gatehouse-changes ;;
    esac
    consumer="$stream.upstream_${name}_$event"
    consumers="$consumers
            \"\$JS.API.CONSUMER.INFO.$consumer\", \"\$JS.API.CONSUMER.MSG.NEXT.$consumer\", \"\$JS.ACK.$consumer.>\""
  done
  answers=''
  for question in $questions; do answers="$answers\"gatehouse.upstream.$name.$question\", "; done
  users="$users      {
        user: upstream-$name, password: \"$(cat "$file")\"
        permissions {
          publish: [\"gatehouse.upstream.$name.deliver\"$consumers
          ]
          subscribe: [$answers\"_INBOX_$name.>\"]
          allow_responses: { max: 1, expires: \"1m\" }
        }
      }
"
done
if [ -n "$users" ]; then
  while IFS= read -r line; do
    case $line in
    '      # upstreams') printf '%s' "$users" ;;
    *) printf '%s\n' "$line" ;;
    esac
  done <"$(dirname "$0")/nats/nats.conf" >"$folder/nats.conf.new"
  chmod 444 "$folder/nats.conf.new"
  mv -f "$folder/nats.conf.new" "$folder/nats.conf"
fi
# SELinux requires a label on the files, which Compose can't set for secrets.
if command -v selinuxenabled >/dev/null && selinuxenabled; then chcon -R -t container_file_t "$folder"; fi
echo "The secrets are in $folder. Keep a copy of this folder in a safe place."
