#!/bin/bash
# A full disk, an output that stalls, a capture that is stopped, a terminal that goes: the
# traffic goes on, drops are counted, memory stays at its cap, the file is whole.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
bench() { PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$PG_BIN/pgbench" -n "$@" 2>&1; }
bench -i -q -s 1 >/dev/null
cat >wide.sql <<-'END'
	select repeat('x', 60000);
END
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
field() { "$REPROD" capture show --json "$1" | grep -m1 "\"$2\":" | tr -dc '0-9\n'; }

# Stalled: selftest drop is this test, for users.
"$REPROD" selftest drop --json >drop.json 2>drop.err
is $? 0 "an output that stalls holds up nobody" || { diag <drop.json; diag <drop.err; }
like "$(cat drop.json)" '"dropped_packets": [1-9]' "and the drops are counted"

# Stopped: the kernel's ring fills and drops.
sniff_start stop.rcap -i lo --port "$port" --budget mem=32M || bail "the capture did not start"
kill -STOP "$sniff_pid"
bench -f wide.sql -c 4 -t 500 >stop.out
like "$(cat stop.out)" 'actually processed: 2000/2000' "beside a stopped capture every transaction is done"
kill -CONT "$sniff_pid"
sniff_stop
[ "$(field stop.rcap kernel_dropped)" -gt 0 ]
ok $? "what it could not see is counted" || diag "$(field stop.rcap kernel_dropped)"
[ "$(field stop.rcap memory_max_bytes)" -le $((32 << 20)) ]
ok $? "its memory stayed at its cap" || diag "$(field stop.rcap memory_max_bytes)"
"$REPROD" capture verify stop.rcap >verify.out 2>&1
is $? 0 "its file verifies" || diag <verify.out

# Full: the capture ends and says so, the traffic goes on.
(
	trap '' XFSZ
	ulimit -f 60
	exec "$REPROD" capture -i lo --port "$port" -o full.rcap --for 60s
) >full.out 2>full.err &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
wait_until 10 test -s full.rcap
bench -S -c 2 -t 4000 -R 2000 >bench.out
like "$(cat bench.out)" 'actually processed: 8000/8000' "beside a full disk every transaction is done"
wait "$pid"
is $? 4 "a full disk ends the capture with 4"
like "$(cat full.err)" 'full.rcap.*(File too large|No space).*hint: .*kept' "and says what is kept"
[ "$("$REPROD" capture cat full.rcap 2>/dev/null | grep -c '"type":"request"')" -gt 0 ]
ok $? "which is readable"
"$REPROD" capture -i lo --port "$port" -o /dev/full --force --for 2s >null.out 2>null.err
is $? 4 "so does a device that is full"

# The disk budget is an end as good as --for's.
sniff_start disk.rcap -i lo --port "$port" --budget disk=30K
bench -S -c 2 -t 5000 >bench.out
wait "$sniff_pid"
is $? 0 "a used up disk budget ends it with 0" || diag <disk.rcap.err
like "$("$REPROD" capture show --json disk.rcap)" '"ended": "disk"' "which the file says"
[ "$(stat -c %s disk.rcap)" -lt 200000 ]
ok $? "and it is about as large as that" || stat disk.rcap | diag

# The terminal goes.
sniff_start hup.rcap -i lo --port "$port"
bench -S -c 2 -t 200 >bench.out
kill -HUP "$sniff_pid"
wait "$sniff_pid"
is $? 130 "a terminal that goes ends it"
"$REPROD" capture verify hup.rcap >verify.out 2>&1
is $? 0 "with the file whole" || diag <verify.out
[ "$(field hup.rcap requests)" -ge 400 ]
ok $? "and every request in it" || diag "$(field hup.rcap requests)"

# --for ends it, though the output takes nothing.
mkfifo stuck
exec 9<>stuck
"$REPROD" capture -i lo --port "$port" -o stuck --force --for 1s >stuck.out 2>stuck.err &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
bench -f wide.sql -S -c 2 -T 2 >bench.out
ends() { ! kill -0 "$pid" 2>/dev/null; }
wait_until 15 ends
ok $? "an output that takes nothing does not keep it past its time"
exec 9>&-
done_testing
