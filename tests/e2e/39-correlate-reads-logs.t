#!/bin/bash
# correlate reads a server's log as it reads a capture of it, and leaves nothing behind.
. "$(dirname "$0")/../lib/tap.sh"
cd "$(tap_dir)" || bail "no folder"
export TMPDIR=$PWD/tmp
mkdir tmp

perl -e 'for my $i (0 .. 2999) {
	my @g = gmtime(1796040000 + $i);
	printf qq(10.0.0.1 - - [%02d/Nov/2026:%02d:%02d:%02d +0000] "GET /api/users/%d HTTP/1.1" 200 100 "-" "c" rt=%.3f\n),
		@g[3, 2, 1, 0], $i, $i % 600 >= 100 && $i % 600 < 140 ? 1.2 : 0.01;
}' >access.log
"$REPROD" correlate access.log --json >log.json 2>err
is $? 0 "an access log is read" || diag <err
"$REPROD" capture access.log -o f.rcap >/dev/null 2>&1
"$REPROD" correlate f.rcap --bucket 10s --json >a.json
"$REPROD" correlate access.log --bucket 10s --json >b.json
same=$(diff <(grep -v '"access.log"\|"f.rcap"' a.json) <(grep -v '"access.log"\|"f.rcap"' b.json) | head -n 5)
is "$same" "" "and is what a capture of it is"
like "$(cat log.json)" '"route": "GET /api/users/\{id\}"' "routes are without their values"
is "$(perl -MJSON::PP -0777 -ne 'print scalar @{decode_json($_)->{spikes}}' log.json)" 5 "five slow times"
gzip -k access.log
"$REPROD" correlate access.log.gz --bucket 10s --json >c.json
same=$(diff <(grep -v '"access.log"' b.json) <(grep -v '"access.log.gz"' c.json) | head -n 5)
is "$same" "" "packed as well"

perl -e 'for my $i (0 .. 299) {
	my @g = gmtime(1796040000 + $i);
	printf qq(2026-11-30 %02d:%02d:%02d.500 UTC [77] LOG:  duration: %.3f ms  statement: select * from t where id = %d\n),
		@g[2, 1, 0], $i % 100 < 10 ? 900 : 5, $i;
}' >server.log
"$REPROD" correlate server.log --json >d.json 2>err
is $? 0 "a Postgres log too" || diag <err
like "$(cat d.json)" '"route": "select \* from t where id = \?"' "under its route"

printf '10.0.0.1 - - [02/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5\n' >plain.log
"$REPROD" correlate plain.log >out 2>err
is $? 3 "a log without latencies is refused"
like "$(cat err)" "log durations" "with what to log"
TMPDIR=/nowhere "$REPROD" correlate access.log >out 2>err
is $? 4 "without room for the capture it is the environment"
is "$(find tmp | wc -l)" 1 "nothing is left in the folder for temporary files"
done_testing
