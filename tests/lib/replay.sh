# replay.sh - targets and captures for the tests of replay; source it after pg.sh.
#
#   replay_target lab                marks the server's database postgres; role replayer
#   replay_capture F.rcap <<SCRIPT   see tests/lib/script_capture.h
#   "$REPROD" replay F.rcap --target "$(replay_dsn lab)" --json
#   replay_get F.json .routes.0.n    a value of a document

replay_target() { # NAME [TIER]
	pg_psql "$1" "CREATE ROLE replayer LOGIN;
		GRANT ALL ON SCHEMA public TO replayer;
		CREATE SCHEMA reprod; GRANT USAGE ON SCHEMA reprod TO PUBLIC;
		CREATE TABLE reprod.mark (proof text);
		CREATE FUNCTION reprod.proof(OUT proof text, OUT system_identifier text, OUT data_directory text,
			OUT database_oid text, OUT is_in_recovery boolean) LANGUAGE sql SECURITY DEFINER AS
			\$\$SELECT (SELECT proof FROM reprod.mark), (SELECT system_identifier::text FROM pg_control_system()),
			current_setting('data_directory'), (SELECT oid::text FROM pg_database WHERE datname = current_database()),
			pg_is_in_recovery()\$\$;
		INSERT INTO reprod.mark SELECT json_build_object('format', 'reprod.mark', 'version', 1,
			'nonce', md5(random()::text), 'system_identifier', system_identifier,
			'data_directory', data_directory, 'database_oid', database_oid::bigint,
			'tier', '${2:-test}', 'is_neutralised', true, 'source_id', '', 'key_id', '',
			'policy_digest', '', 'frozen_id', '')::text FROM reprod.proof()"
}

replay_dsn() { # NAME
	echo "host=${pg_dirs[$1]} port=${pg_ports[$1]} user=replayer dbname=postgres"
}

replay_capture() { # FILE [ADDRESS:PORT], script on stdin
	"${TEST_OUT:?}/tests/test_replay_plan" "$1" "${2:-192.0.2.1:5432}"
}

replay_get() { # FILE DOTTED
	perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0] or die; my $d = decode_json(<$f>);
		for (grep { length } split /\./, $ARGV[1]) { $d = ref $d eq "ARRAY" ? $d->[$_] : $d->{$_} }
		print ref $d ? JSON::PP->new->canonical->allow_nonref->encode($d) : defined $d ? $d : "null"' "$1" "$2"
}

# A value of the route whose text holds FRAGMENT.
replay_route() { # FILE FRAGMENT DOTTED
	perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0] or die; my $d = decode_json(<$f>);
		($d) = grep { index($_->{route}, $ARGV[1]) >= 0 } @{$d->{routes}}; $d or exit 1;
		$d = $d->{$_} for split /\./, $ARGV[2];
		print ref $d ? JSON::PP->new->canonical->allow_nonref->encode($d) : defined $d ? $d : "null"' "$1" "$2" "$3"
}

# True when the arithmetic comparison holds: replay_is "$p99 < 5".
replay_is() {
	awk "BEGIN { exit !($1) }"
}
