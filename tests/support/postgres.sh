#!/usr/bin/env bash
# A private PostgreSQL server in a folder of its own, reachable by a unix socket there and on a free
# loopback port. Used by the tests and the benchmarks.
#
#   postgres.sh start DIR           creates DIR on first use; writes DIR/url
#   postgres.sh stop DIR [MODE]     MODE is smart, fast (default) or immediate
#   postgres.sh start-shared FILE   as start, in a new folder; FILE gets the URL
#   postgres.sh stop-shared FILE    stops that server and removes its folder
set -euo pipefail

bin=${OUTBOX_TEST_POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
[ -x "$bin/pg_ctl" ] || {
  echo "postgres.sh: no PostgreSQL server found; run 'make deps'" >&2
  exit 1
}

# PostgreSQL refuses to run as root.
as_owner() {
  if [ "$(id -u)" = 0 ]; then (cd / && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"); else "$@"; fi
}

free_port() {
  local port
  while :; do
    # Below those that the kernel gives to clients, which would come in the way of a restart.
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

start() {
  local dir=$1 try
  mkdir -p "$dir"
  if [ "$(id -u)" = 0 ]; then chown postgres: "$dir"; fi
  if [ ! -f "$dir/data/PG_VERSION" ]; then
    as_owner "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-sync >"$dir/initdb.log"
    as_owner tee -a "$dir/data/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$dir'
max_connections = 200
shared_buffers = 256MB
max_wal_size = 4GB
${OUTBOX_TEST_POSTGRES_CONF:-}
CONF
  fi
  for try in 1 2 3 4 5; do
    [ -f "$dir/port" ] || free_port >"$dir/port"
    if as_owner "$bin/pg_ctl" -D "$dir/data" -s -w -t 60 -l "$dir/data/server.log" -o "-p $(cat "$dir/port")" start; then
      echo "postgres://postgres@127.0.0.1:$(cat "$dir/port")/postgres" >"$dir/url"
      return 0
    fi
    # Somebody took the port between the look and the start; a server that was started before keeps
    # its port, so that clients find it again.
    [ -f "$dir/url" ] || rm -f "$dir/port"
  done
  tail -n 20 "$dir/data/server.log" >&2
  return 1
}

stop() {
  if [ -f "$1/data/postmaster.pid" ]; then as_owner "$bin/pg_ctl" -D "$1/data" -s -w -t 60 -m "${2:-fast}" stop; fi
}

case "${1:-}" in
  start) start "$2" ;;
  stop) stop "$2" "${3:-fast}" ;;
  start-shared)
    if [ -f "$2" ] && [ -f "$2.dir" ]; then "$0" stop-shared "$2" || true; fi
    dir=$(mktemp -d /tmp/outbox-pg.XXXXXX)
    chmod 755 "$dir"
    echo "$dir" >"$2.dir"
    # Tests kill processes, not the machine: what was written stays written.
    OUTBOX_TEST_POSTGRES_CONF='fsync = off' start "$dir"
    cp "$dir/url" "$2"
    ;;
  stop-shared)
    dir=$(cat "$2.dir")
    stop "$dir" immediate || true
    rm -rf "$dir" "$2" "$2.dir"
    ;;
  *)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
