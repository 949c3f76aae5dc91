#!/bin/bash
# --svg is well-formed whatever the names are, --draft hands conditions to an experiment and
# 'recipe check' names what is missing; the same inputs give the same bytes.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

# Ten minutes of a csvlog: each minute a job slows everything for four seconds.
perl -e '
	srand(3);
	my $id = 0;
	for (my $t = 0; $t < 600; $t += 0.08 + rand() * 0.04) {
		my $in = $t - 60 * int($t / 60) - 20;
		my $ms = 2 + rand() * 2;
		$ms = 80 + rand() * 40 if $in >= 0 && $in < 4 && rand() < 0.6;
		printf qq(2026-01-01 00:%02d:%06.3f UTC,"app","shop",%d,"127.0.0.1:%d",%x.b,%d,"SELECT",2026-01-01 00:00:00 UTC,3/0,0,LOG,00000,), $t / 60, $t - 60 * int($t / 60),
			100 + $id % 8, 5000 + $id % 8, 1767225600 + $id % 8, 1 + $id / 8;
		printf qq("duration: %.3f ms  statement: SELECT v FROM t WHERE id = %d",,,,,,,,,"psql","client backend",,0\n), $ms, $id % 90;
		$id++;
	}' >log.csv
perl -e 'for (0 .. 9) {
		printf qq({"t": %d, "t_end": %d, "kind": "job", "name": "refresh"}\n), 1767225600 + $_ * 60 + 20, 1767225600 + $_ * 60 + 24;
		printf qq({"t": %d, "kind": "job", "name": "a<b>&\\"c\\"é"}\n), 1767225600 + $_ * 60 + 41;
	}' >jobs.jsonl
perl -e 'print "t,name,value\n"; printf "%d,a<&b,%d\n", 1767225600 + $_ * 5, $_ % 7 for 0 .. 119' >metric.csv
"$REPROD" capture log.csv -o c.rcap -q >out 2>&1
ok $? "a capture" || diag <out

"$REPROD" correlate c.rcap --events jobs.jsonl --metric metric.csv --svg a.svg --draft recipe.json >text 2>err
is $? 0 "the job lines up" || diag <text
like "$(head -1 text)" '^job:refresh lines up' "and is named first"
xmllint --noout a.svg 2>err
ok $? "the picture is well-formed XML" || diag <err
like "$(cat a.svg)" 'a&lt;b&gt;&amp;&quot;c&quot;é' "names are escaped"
unlike "$(cat a.svg)" '<script|href|url\(' "no script, nothing from elsewhere"
is "$(grep -c 'class="k"' a.svg)" 10 "ten spikes are shaded"
is "$(grep -c 'class="h"' a.svg)" 10 "ten runs that hit are in colour"
"$REPROD" correlate c.rcap --events jobs.jsonl --metric metric.csv --svg b.svg --draft again.json >text2
cmp -s a.svg b.svg && cmp -s recipe.json again.json && cmp -s text text2
ok $? "the same bytes again"
"$REPROD" correlate c.rcap --svg a.svg >/dev/null 2>err
is $? 2 "a picture that exists is not overwritten"
"$REPROD" correlate c.rcap --svg c.rcap --force >/dev/null 2>err
is $? 2 "nor is an input, not even with --force"

ids() { perl -MJSON::PP -e 'local $/; print join " ", map { $_->{id} } @{decode_json(<STDIN>)->{$ARGV[0]}}' "$2" <"$1"; }
is "$(ids recipe.json conditions)" "job:refresh data concurrency" "what lines up is to be switched"
"$REPROD" recipe check recipe.json >check 2>&1
is $? 1 "the draft is no recipe yet" || diag <check
like "$(cat check)" 'conditions/0/on/file.*no command' "check names the missing command"
like "$(cat check)" 'cell/windows' "and the missing cell"
unlike "$(cat check)" 'traffic' "the traffic is not missing"
perl -e 'print "t,route,ms\n"; printf "%d,a,1\n", 1767225600 + $_ for 0 .. 200' >plain.csv
"$REPROD" correlate plain.csv --draft no.json >/dev/null 2>err
is $? 2 "without a capture there is no draft"
like "$(cat err)" 'hint: .*reprod capture' "and it is said what to do"
ok "$([[ ! -e no.json ]]; echo $?)" "and nothing is written"
done_testing
