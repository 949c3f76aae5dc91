#!/bin/bash
# The same traffic read from packets, csvlog, jsonlog and the stderr log gives the same
# requests: routes, order, errors, latencies.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/logs.sh"
cd "$(tap_dir)" || bail "no folder"
logs_test 15 '%m [%p] %q%u@%d/%a %r '
done_testing
