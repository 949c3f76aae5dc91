#!/bin/bash
# A live capture held to its budget sheds, says so, and its file still verifies; sampled by
# rules its counts stay exact; the probe tells what it costs and ends on a breach.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start_tcp prod
port=$(pg_port prod)
bench() { PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$PG_BIN/pgbench" -n "$@" 2>&1; }
bench -i -q -s 1 >/dev/null
field() { "$REPROD" capture show --json "$1" | grep -m1 "\"$2\":" | tr -dc '0-9\n'; }

# Sampled: 40 sessions, ten of which write.
cat >rules.json <<-'END'
	{"format": "sampling", "version": 1, "seed": 1, "baseline": 0,
	 "rules": [{"route": "insert into pgbench_history", "rate": 1},
	  {"route": "insert into renamed_history", "rate": 1}]}
END
sniff_start sample.rcap -i lo --port "$port" --sample rules.json || bail "the capture did not start"
bench -S -c 15 -t 20 >/dev/null
bench -c 10 -t 10 >/dev/null
bench -S -c 15 -t 20 >/dev/null
sniff_stop
"$REPROD" capture show --json sample.rcap >sample.json
like "$(cat sample.json)" 'SELECT abalance FROM pgbench_accounts WHERE aid = [^}]*"requests": 700' "counts are exact under sampling"
"$REPROD" capture cat sample.rcap >sample.cat
is "$(grep '"type":"request"' sample.cat | grep -c 'INSERT INTO pgbench_history')" 100 "each critical request is stored"
is "$(grep '"type":"request"' sample.cat | grep -c 'SELECT abalance')" 100 "with its whole session, and no others"
"$REPROD" capture verify sample.rcap >verify.out 2>&1
is $? 0 "the sampled file verifies" || diag <verify.out
"$REPROD" capture coverage sample.rcap --check >coverage.out
is $? 1 "coverage --check fails for a rule without traffic"
like "$(cat coverage.out)" "rule 'insert into renamed_history' has no traffic" "and names it" || diag <coverage.out
echo '{"format": "sampling", "version": 1, "baseline": 0, "rule": []}' >bad.json
"$REPROD" capture -i lo --sample bad.json -o bad.rcap 2>bad.err
is $? 3 "wrong rules are bad input"
like "$(cat bad.err)" "bad.json: unknown key 'rule'" "and the fault is named"
[ ! -e bad.rcap ]
ok $? "and leave no file"

# The probe, and a budget that cannot be held. Beside it, what is shed: two windows over the
# budget are enough.
sniff_start shed.rcap -i lo --port "$port" --budget cpu=0.01%
bench -c 16 -T 6 -R 600 >shed.bench &
load=$!
"$REPROD" capture -i lo --port "$port" --probe --probe-window 300ms --budget cpu=0.01% --for 6s -o probe.rcap >probe.out 2>probe.err
is $? 1 "a probe that finds more than the budget ends the capture with 1" || diag <probe.err
like "$(cat probe.err)" 'probe: capturing takes [0-9.]+ % of a core itself' "it tells the cost"
"$REPROD" capture show --json probe.rcap >probe.json
like "$(cat probe.json)" '"host_cpu_share".*"smallest".*"detached": true' "the file has it, with what would have shown"
like "$(cat probe.json)" '"host_cpu_us_per_request": \{[^}]*"off".*"p99_change"' "and the host's CPU for a request"
"$REPROD" capture -i lo --probe --for 3s -o bad.rcap 2>bad.err
is $? 2 "a probe that does not fit into --for is refused"
like "$(cat bad.err)" 'needs a --for of at least' "and told what it needs"
wait "$load"
sniff_stop
"$REPROD" capture show --json shed.rcap >shed.json
like "$(cat shed.json)" '"level": "detail".*"level": "half".*"sessions_kept": 0.5' "over the budget detail goes, then sessions"
like "$(cat shed.json)" '"why": "cpu"' "with the reason"
"$REPROD" capture verify shed.rcap >verify.out 2>&1
is $? 0 "what is left verifies" || diag <verify.out
[ "$("$REPROD" capture cat shed.rcap | grep -c 'shed')" -gt 0 ]
ok $? "requests that lost something are flagged"
for bad in cpu=x ram=1G mem=1M; do
	"$REPROD" capture -i lo --budget "$bad" -o bad.rcap 2>bad.err
	is $? 2 "--budget $bad is refused"
done
done_testing
