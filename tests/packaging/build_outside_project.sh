#!/usr/bin/env bash
# Installs a build into a prefix of its own, then builds and runs the project in consumer/ against it,
# by find_package and by pkg-config.
#
#   build_outside_project.sh BUILD_FOLDER COMPILER
set -euo pipefail
build=$1
compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "/tmp/outbox packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT

command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed; run 'make deps'"; exit 77; }

prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

check() {
  "$prefix/bin/outboxd" migrate up --db "sqlite:$work/$1.db" --table orders_outbox
  "$2" "$work/$1.db"
  echo "$1: the message came through"
}

cmake -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/cmake"
check find_package "$work/cmake/consumer"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name outbox.pc)")
if pkg-config --cflags outbox | grep -q -- -std; then
  echo "outbox.pc chooses the language version, which is the project's to choose"; exit 1
fi
# pkg-config quotes the spaces of its paths for a shell.
eval "\"$compiler\" -std=c++20 \"$here/consumer/consumer.cc\" -o \"$work/consumer\" \
  $(pkg-config --cflags --libs outbox)"
check pkg-config "$work/consumer"
