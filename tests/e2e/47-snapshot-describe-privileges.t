#!/bin/bash
# What a role may not see is said with the GRANT that would mend it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"

dir=$(tap_dir)
pg_start prod
pg_psql prod "CREATE TABLE t AS SELECT i, i % 5 AS k FROM generate_series(1, 2000) AS i; ANALYZE t;
	CREATE ROLE nobody_special LOGIN; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher;
	CREATE ROLE reader LOGIN; GRANT pg_monitor, pg_read_all_data TO reader;
	CREATE ROLE one_column LOGIN; GRANT SELECT (k) ON t TO one_column"
describe_as() {
	"$REPROD" snapshot describe "$(pg_dsn prod | sed "s/user=postgres/user=$1/")" -o "$dir/$1.json" >"$dir/$1.out" 2>&1
}
section() { # ROLE SECTION FIELD
	perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
		print $d->{sections}{$ARGV[1]}{$ARGV[2]} // "null"' "$dir/$1.json" "$2" "$3"
}
known() { # ROLE: columns with statistics
	perl -MJSON::PP -e 'local $/; open my $f, "<", $ARGV[0]; my $d = decode_json(<$f>);
		print scalar grep { $_->{has_statistics} } @{$d->{sections}{columns}{columns}}' "$dir/$1.json"
}
for role in postgres watcher reader nobody_special one_column; do
	describe_as $role
	is $? 0 "$role gets a profile"
done
is "$(section postgres columns status)" ok "a superuser sees all columns"
is "$(known postgres)" 2 "both of them"
is "$(section watcher columns status)" denied "pg_monitor alone sees no statistics of columns"
like "$(section watcher columns grant)" 'pg_read_all_data' "and is told the grant"
is "$(section watcher relations status)" ok "but all relations"
is "$(known reader)" 2 "pg_read_all_data mends it"
is "$(section one_column columns status)" partial "a grant on one column gives a part"
is "$(known one_column)" 1 "that column"
is "$(section nobody_special activity status)" ok "counters need no grant"

out=$("$REPROD" snapshot describe "host=$dir dbname=none" 2>&1)
is $? 4 "an unreachable server is exit 4"
like "$out" 'could not connect' "with words"
done_testing
