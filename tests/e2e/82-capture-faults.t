#!/bin/bash
# A full disk, a capture that is stopped, a terminal that goes: the
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
cat >random.sql <<-'END'
	\set a random(1, 1000000000)
	select :a, 'a text that hardly compresses', :a / 7, :a % 9973;
END
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
field() { "$REPROD" capture show --json "$1" | grep -m1 "\"$2\":" | tr -dc '0-9\n'; }

# Stopped for three seconds under load: the kernel's ring fills and drops. The control is
# the same load beside the same capture that runs.
tps() { sed -n 's/^tps = \([0-9]*\).*/\1/p' "$1"; }
sniff_start stop.rcap -i lo --port "$port" --budget mem=32M || bail "the capture did not start"
bench -f wide.sql -c 2 -T 1 >run.out
kill -STOP "$sniff_pid"
bench -f wide.sql -c 2 -T 3 >stop.out
like "$(cat stop.out)" 'number of failed transactions: 0 ' "beside a stopped capture no transaction fails"
[ "$(tps stop.out)" -ge $(($(tps run.out) * 7 / 10)) ]
ok $? "and they are as quick as beside one that runs" || diag "$(tps stop.out) of $(tps run.out)/s"
kill -CONT "$sniff_pid"
sniff_stop
[ "$(field stop.rcap kernel_dropped)" -gt 0 ]
ok $? "what it could not see is counted" || diag "$(field stop.rcap kernel_dropped)"
[ "$(field stop.rcap memory_max_bytes)" -le $(($(is_sanitized && echo 128 || echo 32) << 20)) ]
ok $? "its memory stayed at its cap" || diag "$(field stop.rcap memory_max_bytes)"
"$REPROD" capture verify stop.rcap >verify.out 2>&1
is $? 0 "its file verifies" || diag <verify.out

# Full, by a limit and by a file system of one megabyte in a mount namespace of its own: the
# capture ends and says so, the traffic goes on.
(
	trap '' XFSZ
	ulimit -f 84
	exec "$REPROD" capture -i lo --port "$port" -o full.rcap --for 60s
) >full.out 2>full.err &
full=$!
at_exit "kill -KILL $full 2>/dev/null"
unshare --mount sh -c 'mkdir small && mount -t tmpfs -o size=1m,mode=777 none small
	dd if=/dev/zero of=small/filled bs=1k count=940 2>/dev/null
	"$REPROD" capture -i lo --port "$1" -o small/disk.rcap --for 60s & pid=$!
	until [ -s small/disk.rcap ]; do sleep 0.02; done; touch ready; wait $pid; status=$?
	cp small/disk.rcap kept.rcap; exit $status' sh "$port" >small.out 2>small.err &
small=$!
at_exit "kill -KILL $small 2>/dev/null"
wait_until 10 test -s full.rcap || diag <full.err
wait_until 10 test -e ready || diag <small.err
bench -f random.sql -c 2 -t 5000 -R 4000 >bench.out
like "$(cat bench.out)" 'actually processed: 10000/10000' "beside full disks every transaction is done"
wait "$full"
is $? 4 "a full disk ends the capture with 4"
like "$(cat full.err)" 'full.rcap.*(File too large|No space).*hint: .*kept' "and says what is kept"
[ "$("$REPROD" capture cat full.rcap 2>/dev/null | grep -c '"type":"request"')" -gt 0 ]
ok $? "which is readable"
wait "$small"
is $? 4 "so does a file system without room" || diag <small.err
like "$(cat small.err)" 'disk.rcap.*No space' "and says so"
[ "$("$REPROD" capture cat kept.rcap 2>/dev/null | grep -c '"type":"request"')" -gt 0 ]
ok $? "and what came before is readable"
"$REPROD" capture -i lo --port "$port" -o /dev/full --force --for 60s >null.out 2>null.err
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

done_testing
