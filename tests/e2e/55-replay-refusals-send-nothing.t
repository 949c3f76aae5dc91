#!/bin/bash
# Each refusal is exit 5 with a hint, and the server has seen no captured statement.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/replay.sh"

dir=$(tap_dir)
pg_start_tcp lab "log_statement = all"
replay_target lab
dsn=$(replay_dsn lab)
tcp="host=127.0.0.1 port=$(pg_port lab) user=replayer dbname=postgres"

make_capture() { # FILE ADDRESS:PORT [HEAD-LINE...]
	local file=$1 address=$2
	shift 2
	{
		[ $# -eq 0 ] || printf 'head %s\n' "$@"
		echo "1 10 2 II simple 1 | SELECT 'captured statement'"
	} | replay_capture "$file" "$address"
}
set_mark() { # KEY JSON-VALUE
	pg_psql lab "UPDATE reprod.mark SET proof = jsonb_set(proof::jsonb, '{$1}', '$2')::text"
}
# refused NAME REGEX ARG...
refused() {
	local name=$1 regex=$2 out status
	shift 2
	out=$("$REPROD" replay "$@" 2>&1)
	status=$?
	is "$status" 5 "$name is refused" || diag "$out"
	like "$out" "$regex" "  and told why" || diag "$out"
	! grep -q 'captured statement' "$(pg_log lab)"
	ok $? "  and nothing was sent"
}

make_capture "$dir/a.rcap" 192.0.2.1:5432
refused "a superuser" 'superuser.*hint: .*reprod_replay' "$dir/a.rcap" --target "$(pg_dsn lab)"

make_capture "$dir/self.rcap" "127.0.0.1:$(pg_port lab)"
before=$(grep -c 'SELECT p.proof' "$(pg_log lab)")
refused "the captured address and port" 'captured server.*hint:' "$dir/self.rcap" --target "$tcp"
is "$(grep -c 'SELECT p.proof' "$(pg_log lab)")" "$before" "  before a connection was made"

id=$(pg_psql lab "SELECT encode(sha256(system_identifier::text::bytea), 'hex') FROM pg_control_system()")
make_capture "$dir/id.rcap" 192.0.2.1:5432 "server.source_id $id"
refused "the captured server's identifier" 'captured server' "$dir/id.rcap" --target "$dsn"

make_capture "$dir/key.rcap" 192.0.2.1:5432 "predicates_kept false" "key_id 0123456789abcdef"
refused "traffic scrubbed with a key that the snapshot lacks" 'key' "$dir/key.rcap" --target "$dsn"

set_mark tier '"plan"'
refused "a plan twin" 'plan twin' "$dir/a.rcap" --target "$dsn"
set_mark tier '"test"'

set_mark system_identifier '"1"'
refused "the mark of another server" 'another server' "$dir/a.rcap" --target "$dsn"
set_mark system_identifier "\"$(pg_psql lab 'SELECT system_identifier FROM pg_control_system()')\""

pg_psql lab "CREATE DATABASE bare"
refused "a database without a mark" 'mark.*hint:' "$dir/a.rcap" --target "host=$(dirname "$(pg_log lab)") port=$(pg_port lab) user=replayer dbname=bare"

out=$("$REPROD" replay "$dir/a.rcap" --target "$dsn" 2>&1)
is $? 0 "with none of these it runs" || diag "$out"
grep -q 'captured statement' "$(pg_log lab)"
ok $? "and the statement arrives"

# The mark changes while the run goes on: a session that connects then sends nothing.
{
	echo "session 1 0 0"
	echo "session 2 3000 0"
	echo "1 10 2 II simple 1 | SELECT 'first session'"
	echo "2 3000 2 II simple 1 | SELECT 'second session'"
} | replay_capture "$dir/late.rcap"
"$REPROD" replay "$dir/late.rcap" --target "$dsn" >"$dir/out" 2>&1 &
replay=$!
is_under_way() { grep -q 'first session' "$(pg_log lab)"; }
wait_until 10 is_under_way
set_mark nonce '"00000000000000000000000000000000"'
wait $replay
is $? 5 "a mark that changes during the run ends it"
! grep -q 'second session' "$(pg_log lab)"
ok $? "and the session that saw it sends nothing" || diag <"$dir/out"

out=$("$REPROD" replay "$dir/a.rcap" --target "host=$dir port=1 user=replayer dbname=postgres" 2>&1)
is $? 4 "no server is exit 4"
like "$out" 'could not connect' "and told" || diag "$out"
out=$("$REPROD" replay "$dir/none.rcap" --target "$dsn" 2>&1)
is $? 3 "no capture is exit 3" || diag "$out"
out=$("$REPROD" replay "$dir/a.rcap" 2>&1)
is $? 2 "no target is exit 2"
out=$("$REPROD" replay "$dir/a.rcap" --target "$dir" 2>&1)
is $? 2 "a folder is exit 2"
like "$out" 'is a folder.*hint: .*recipe run' "and told what to do"
done_testing
