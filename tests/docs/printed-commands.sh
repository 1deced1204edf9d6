# What run-printed-commands puts in the place of what a reader has: a server of the reader's, a secret in
# /etc, somebody who answers a question, somebody who ends a program. Read by bash in the page's own folder.

# Prints where the script is, for whoever looks for the block that failed.
at() { echo "== $*"; }

# The paths of the pages, as this run has them, and for the service any free port.
substituted() { # FILE
  sed -e "s#/etc/outboxd#$place/etc/outboxd#g" -e "s#/var/lib/outbox#$place#g" -e "s#/tmp/outbox-start#$place/start#g" \
    -e 's#"127\.0\.0\.1:8080"#"127.0.0.1:0"#' "${substitutions[@]}" "$1"
}
substitutions=()

# A reader says yes, and ends what goes on for ever.
outboxd() {
  case "$1" in
    serve) serve "$@" && stop_serving ;;
    relay) if [[ " $* " == *" --drain "* ]]; then command outboxd "$@"; else command outboxd "$@" --drain; fi ;;
    retry | delete) if [[ " $* " == *" --dry-run "* ]]; then command outboxd "$@"; else command outboxd "$@" --yes; fi ;;
    *) command outboxd "$@" ;;
  esac
}

serve() { # serve ARGUMENTS…
  local log=$place/serve.log tries
  command outboxd "$@" >"$log" 2>&1 &
  serving=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if grep -q 'msg=serving' "$log"; then return 0; fi
    kill -0 "$serving" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log" >&2
  return 1
}

stop_serving() {
  kill -TERM "$serving"
  wait "$serving"
  serving=
}

run_sql() { psql -q -v ON_ERROR_STOP=1 "$OUTBOX_DB"; }

run_toml() {
  cat >"$place/etc/outboxd.toml"
  command outboxd config --config "$place/etc/outboxd.toml"
}

# Builds nothing: shows that the Makefile has the target.
make() { command make -n "$@" >/dev/null; }

# Programs that are not ours; the page shows how they are called.
rabbitmqadmin() { :; }
nats() { :; }
redis-cli() { :; }

table_with() { # STATUS…: a table with a message of each
  local status
  command outboxd migrate up --table orders_outbox
  for status in "$@"; do
    command outboxd enqueue --table orders_outbox --topic shop.order.placed.v1 --payload '{"order": 7}'
    psql -q "$OUTBOX_DB" -c "UPDATE orders_outbox SET status = '$status', attempts = 3, last_error = 'timeout',
      available_at = CASE '$status' WHEN 'dead' THEN 'infinity' ELSE now() END WHERE seq = (SELECT max(seq) FROM orders_outbox)"
  done
}

before_page() {
  export KAFKA_PASSWORD=k MQ_PASSWORD=m NATS_PASSWORD=n RABBIT_PASSWORD=r REDIS_PASSWORD=s
  serving=
  case "$page" in
    README.md | docs/start.md) ;;  # they make the table themselves
    docs/operating/deployment.md)
      printf '[relay]\nsink = "null:"\n[[table]]\nname = "orders_outbox"\n' >"$place/etc/outboxd.toml"
      ;;
    docs/operating/roles.md) table_with && psql -q "$OUTBOX_DB" -c 'CREATE ROLE shop_app' -c 'CREATE ROLE outboxd' ;;
    docs/operating/tenants.md) ;;
    # Nothing to deliver: the relay has the options right, and needs no broker.
    docs/reference/sinks/*) table_with ;;
    docs/concepts/routing.md)
      mkdir -p "$place/etc/outboxd"
      echo "whsec_$(openssl rand -base64 32)" >"$place/etc/outboxd/partner.key"
      ;;
    docs/reference/http-api.md)
      table_with dead
      export OUTBOX_RELAY_TABLES=public.orders_outbox OUTBOX_RELAY_SINK=null:
      # The first call starts the program with the page's own configuration.
      curl() {
        [ -n "$serving" ] || serve serve --config "$place/etc/outboxd.toml"
        local address
        address=$(grep -oE '127\.0\.0\.1:[0-9]+' "$place/serve.log" | head -n 1)
        command curl -sS --fail-with-body --max-time 60 "${@/127.0.0.1:8080/$address}"
      }
      command outboxd token --new-secret "$place/etc/outboxd-secret"
      mkdir -p "$place/etc/outboxd" && mv "$place/etc/outboxd-secret" "$place/etc/outboxd/secret"
      ;;
    *)
      table_with dead pending
      local id
      id=$(psql -qAt "$OUTBOX_DB" -c "SELECT id FROM orders_outbox ORDER BY seq LIMIT 1")
      substitutions=(-e "s/^\(outboxd [a-z]*\) *ID /\1 $id /" -e "s/01890a5d-ac96-774b-bcce-b302099a8057/$id/")
      command outboxd migrate up --table audit_outbox
      echo '{"topic": "shop.order.placed.v1", "payload": {"order": 8}}' >"$place/events.jsonl"
      ;;
  esac
}

after_page() {
  if [ -n "$serving" ]; then stop_serving; fi
  # Roles belong to the server, not to the page's database.
  if [ "$page" = docs/operating/roles.md ]; then
    psql -q "$server" -c 'DROP DATABASE shop WITH (FORCE)' -c 'DROP ROLE shop_app' -c 'DROP ROLE outboxd'
  fi
}
