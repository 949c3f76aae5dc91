#!/bin/bash
# A small incident of a user's own is played and investigated from end to end.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/incident.sh"

dir=$(tap_dir)
incident_write "$dir/tiny"
"$REPROD" demo --incident "$dir/tiny" -o "$dir/out" --json >"$dir/found.json" 2>"$dir/err" &
pid=$!
at_exit "kill $pid 2>/dev/null"
plays() { grep -qs 'pgbench -n' "$dir/err"; }
wait_until 30 plays
ok $? "production plays" || diag <"$dir/err"

# Its servers are for the demo alone.
socket=$(sed -n 1p "$dir/out/tiny/production/reprod.socket")
port=$(sed -n 4p "$dir/out/tiny/production/postmaster.pid")
said=$(env -u PGPASSWORD psql -w -h 127.0.0.1 -p "$port" -U postgres -c 'SELECT 1' postgres 2>&1)
like "$said" 'password' "nobody comes in over TCP without the password"
is "$(stat -c %a "$socket")" 700 "and the socket's folder is closed"

wait "$pid"
code=$?
[ "$code" -le 1 ]
ok $? "it ends with an answer" || { diag "exit code $code"; diag <"$dir/err"; }
get() { perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0] or die; my $d = decode_json(<$f>)->{incidents}[0]{$ARGV[1]};
	print ref $d ? JSON::PP->new->canonical->allow_nonref->encode($d) : $d' "$dir/found.json" "$1"; }
is "$(get name)/$(get truth)" tiny/job:lock "which names the incident and its truth"
is "$([ "$(get ok)" = true ]; echo $?)" "$code" "its word and the exit code are one"
# A busy machine may leave it unsure; it is never said to be harmless.
like "$(get verdict)" '^(reproduced|unsure)$' "the job is not found harmless" || diag <"$dir/err"
like "$(get route)" 'UPDATE accounts SET balance' "the route is the one that waits"
is "$(ls "$dir/out/tiny" | grep -cx -e production -e test)" 0 "production and test are gone"
is "$(ls "$dir/out/tiny" | grep -cx -e lab -e lab.frozen)" 2 "the lab stays, to repeat the experiment"
[ -s "$dir/out/tiny/result.json" ] && [ -s "$dir/out/tiny/production.rcap" ]
ok $? "the files that were found stay"
[ ! -e "$socket" ]
ok $? "and no socket's folder"
done_testing
