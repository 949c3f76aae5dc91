#!/bin/bash
# A watch never grows without bound: --keep by time and by size, a full disk. Days pass by
# a clock of the test's.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/pg.sh"
. "$(dirname "$0")/../lib/stats.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
pg_start prod
dsn=$(pg_dsn prod)
pg_psql prod "do \$\$ begin for i in 1..100 loop execute format('create table t%s (a int)', i); end loop; end \$\$"
export REPROD_NOW=2026-11-30T12:00:00Z

"$REPROD" correlate watch "$dsn" -o kept --every 20m --for 2d --keep 12h --json >kept.json 2>kept.err
is $? 0 "two days are watched" || diag <kept.err
like "$(cat kept.json)" '"rounds": 144,' "a round each twenty minutes"
like "$(cat kept.json)" '"sections_skipped": 0,' "none was left out" || diag <kept.err
n=$(ls kept | wc -l)
[ "$n" -ge 12 ] && [ "$n" -le 18 ]
ok $? "--keep leaves the files of half a day" || { diag "$n"; ls kept | diag; }
is "$(ls kept | head -1)" "$(ls kept | sort | head -1)" "the oldest went"
like "$(ls kept | tail -1)" '^stats-20261202T1[0-2]' "the newest is there"
touch kept/notes.txt
"$REPROD" correlate watch "$dsn" -o kept --every 20m --for 40m --keep 1h >/dev/null 2>&1
ls kept | grep -q notes.txt
ok $? "files of others stay"
"$REPROD" correlate watch "$dsn" -o small --every 1h --for 10d --keep 1M --json >small.json 2>small.err
is $? 0 "a folder of 1 MB" || diag <small.err
[ "$(du -sb small | cut -f1)" -le $((1100 * 1024)) ] && [ "$(sed -n 's/.*"files_dropped": \([0-9]*\).*/\1/p' small.json)" -gt 0 ]
ok $? "--keep 1M holds it down" || { du -sb small | diag; diag <small.json; }

(ulimit -f 24; "$REPROD" correlate watch "$dsn" -o full.rstat --for 2h) >full.out 2>full.err
is $? 4 "a full disk ends it"
like "$(cat full.err)" 'could not write.*hint: the first [0-9]+ bytes are kept' "and is told"
[ "$(stats_size full.rstat)" -le 24576 ] && [ "$(stats_size full.rstat)" -gt 10000 ]
ok $? "what was recorded is there" || stats_size full.rstat | diag
stats_traffic 1796040000 1796040300 >traffic.csv
"$REPROD" correlate traffic.csv --stats full.rstat --json >full.json 2>full.err
[ $? -le 6 ]
ok $? "and readable" || diag <full.err
like "$(cat full.json)" '"metric:' "with its metrics"

done_testing
