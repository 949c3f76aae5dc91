#!/bin/bash
# An output that takes nothing holds up nobody: drops are counted, memory stays at its cap,
# and --for still ends it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
mkfifo stuck
exec 9<>stuck
"$REPROD" capture -i lo --port 9 -o stuck --force --for 1s >stuck.out 2>stuck.err &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"

# selftest drop is this test, for users.
"$REPROD" selftest drop --json >drop.json 2>drop.err
code=$?
# Its verdict on speed and memory would be the sanitizer's.
if is_sanitized; then code=$((code > 1)); fi
is $code 0 "an output that stalls holds up nobody" || { diag <drop.json; diag <drop.err; }
like "$(cat drop.json)" '"dropped_packets": [1-9]' "the drops are counted"
like "$(cat drop.json)" '"healthy":.*"stalled":.*"stalled_over_healthy":.*"low": 0?.?[0-9]' "and judged against a capture whose output takes everything"
ends() { ! kill -0 "$pid" 2>/dev/null; }
wait_until 10 ends
ok $? "an output that takes nothing does not keep it past its time"
done_testing
