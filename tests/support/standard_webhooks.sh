#!/usr/bin/env bash
# Verifies the signatures of webhooks with npm's `standardwebhooks`, which is not ours. Skips,
# visibly, when it can not be installed.
#
#   standard_webhooks.sh FOLDER WEBHOOK_SAMPLES    FOLDER keeps the package between runs
set -euo pipefail
folder=$1
samples=$2
here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "skipped: $1"; exit 77; }

if [ ! -d "$folder/node_modules/standardwebhooks" ]; then
  command -v npm >/dev/null || skip "npm is not installed"
  mkdir -p "$folder"
  timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts --prefix "$folder" standardwebhooks \
    >"$folder/npm.log" 2>&1 || skip "npm can not install standardwebhooks (see $folder/npm.log)"
fi

secret() { echo "whsec_$(head -c 32 /dev/urandom | base64 -w 0)"; }
first=$(secret)
second=$(secret)
# Four messages in each of four bodies, and one batch.
"$samples" "$first" "$second" |
  NODE_PATH=$folder/node_modules node "$here/standard_webhooks.js" "$first" "$second" "$(secret)" 17
