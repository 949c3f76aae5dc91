#!/bin/bash
# A planted job among innocent ones, a schedule without a log, a load that happened once:
# verdicts, exit codes, the document others read, and the same bytes from the same seed.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

# play WHAT: eight clients for 50 s, about 400 requests a second over two routes.
play() {
	perl -e '
		my ($what) = @ARGV;
		srand(7);
		my $t0 = 1796040000;
		my @rows;
		for my $client (0 .. 7) {
			for (my $t = rand() / 50; $t < 50;) {
				my $write = rand() < 0.3;
				my $ms = ($write ? 3 : 2) * exp(0.4 * (rand() + rand() + rand() - 1.5) * 2);
				$ms *= 10 if rand() < 0.002;
				my $in = $t - 3 - 8 * int(($t - 3) / 8);
				$ms += 1000 * (1 - $in) if $what eq "stall" && $write && $t >= 3 && $in < 1;
				$ms = 60 if $what eq "load" && $write && $t > 20.7 && rand() < 0.5;
				push @rows, [$t, $write, $ms];
				$t += $ms / 1000 + 0.016 * -log(1 - rand());
			}
		}
		print "t,route,ms\n";
		for (sort { $a->[0] <=> $b->[0] } @rows) {
			printf "%.6f,%s,%.3f\n", $t0 + $_->[0], $_->[1] ? "UPDATE t SET a = ?" : "SELECT a FROM t", $_->[2];
		}' "$1"
}

jobs() { # NAME EVERY AT LENGTH
	perl -e '
		my ($name, $every, $at, $length) = @ARGV;
		for (my $t = $at; $t + $length < 50; $t += $every) {
			printf qq({"t": %.3f, "t_end": %.3f, "kind": "job", "name": "%s"}\n), 1796040000 + $t,
				1796040000 + $t + $length, $name;
		}' "$@"
}

# field FILE PERL: a value of a JSON document in $d.
field() {
	perl -MJSON::PP -e '
		local $/;
		open my $f, "<", $ARGV[0] or die;
		my $d = decode_json(<$f>);
		my ($c) = grep { $_->{id} eq ($ARGV[2] // "") } @{$d->{conditions}};
		my $v = eval $ARGV[1];
		die $@ if $@;
		print $v;' "$@"
}

play stall >stall.csv
{ jobs refresh 8 3 1; jobs vacuum 8 7 0.15; jobs report 5 1.5 0.1; } >jobs.jsonl
"$REPROD" correlate stall.csv --events jobs.jsonl --json >a.json 2>err
is $? 0 "a job that lines up ends with 0"
is "$(cat err)" "" "nothing on stderr"
is "$(field a.json '$d->{conditions}[0]{id}')" job:refresh "the planted job is first"
is "$(field a.json '$c->{verdict}' job:refresh)" "lines up" "it lines up"
is "$(field a.json '"$c->{occurrences}{hit} of $c->{occurrences}{evaluable}"' job:refresh)" "6 of 6" "all its runs hit"
is "$(field a.json '$c->{lag_s} >= 0 && $c->{lag_s} < 0.2 && $c->{lift} > 5 && $c->{p} < 0.002 ? 1 : 0' job:refresh)" 1 \
	"with lag, lift and chance"
for job in vacuum report; do
	like "$(field a.json '$c->{verdict}' job:$job)" '^(no evidence|cannot tell)$' "job:$job is acquitted"
done
is "$(field a.json '$d->{route}')" "UPDATE t SET a = ?" "the judged route"
like "$(field a.json '$d->{fingerprint}')" '^[0-9a-f]{16}$' "and its fingerprint"
is "$(field a.json 'scalar @{$d->{spikes}}')" 6 "six spikes"
is "$(field a.json '$d->{spikes}[0]{kind}')" stall "told as stalls"
is "$(field a.json 'scalar @{$d->{unexplained}}')" 0 "none is unexplained"
is "$(field a.json '$d->{periods}[0]{period_s}')" 8 "their rhythm"
is "$(field a.json '$c->{occurrences}{times}[0]{start}' job:refresh)" "2026-11-30T12:00:03Z" "times of the runs"

"$REPROD" correlate stall.csv --events jobs.jsonl --json >b.json
cmp -s a.json b.json
ok $? "the same seed gives the same bytes"
"$REPROD" correlate - --events jobs.jsonl --json <stall.csv | sed 's/"-"/"stall.csv"/' >c.json
cmp -s a.json c.json
ok $? "stdin gives the same"
"$REPROD" correlate <(cat stall.csv) --events jobs.jsonl --json | sed 's|"/dev/fd/[0-9]*"|"stall.csv"|' >c.json
cmp -s a.json c.json
ok $? "a pipe gives the same"
"$REPROD" correlate stall.csv --events jobs.jsonl -o saved.json >text
cmp -s a.json saved.json
ok $? "-o writes the same document"
like "$(head -1 text)" '^job:refresh lines up: lift [0-9.]+, lag 0.[0-9]+ s, p ' "the text starts with the answer"
"$REPROD" correlate stall.csv --events jobs.jsonl -o saved.json >/dev/null 2>err
is $? 2 "an existing file is not overwritten"

perl -e 'printf qq({"t": %.1f, "kind": "job", "name": "n%d"}\n), 1796040000 + $_ / 50, $_ for 1 .. 2100' >many.jsonl
head -200 stall.csv >short.csv
"$REPROD" correlate short.csv --events many.jsonl --json >a.json
is "$(field a.json 'scalar grep { $_->{kind} ne "traffic" } @{$d->{conditions}}')" 2000 "two thousand conditions are tested"
like "$(field a.json '"$d->{complete} @{$d->{warnings}}"')" '^0 .*100 events' "and what is beyond is said"
printf '{"t": 1796040001, "kind": "job", "name": "x\\u001b[31m"}\n{"t": 1796040001, "kind": "job", "name": "y"}\n' >escape.jsonl
"$REPROD" correlate stall.csv --events escape.jsonl >text
unlike "$(cat -v text)" '\^\[' "no control character of a name reaches the terminal"
like "$(cat text)" 'control characters' "and the event is told as bad"

jobs vacuum 8 7 0.15 >innocent.jsonl
"$REPROD" correlate stall.csv --events innocent.jsonl >text
is $? 1 "without the guilty job nothing lines up"
like "$(cat text)" 'unexplained:' "and the stalls are told as unexplained"
"$REPROD" correlate stall.csv --events jobs.jsonl --route "select a" --json >a.json
is "$(field a.json '$d->{route}')" "SELECT a FROM t" "--route picks by a fragment"
"$REPROD" correlate stall.csv --route nowhere 2>err
is $? 2 "an unknown route is a usage error"

play load >load.csv
{ jobs vacuum 8 7 0.15; jobs report 5 1.5 0.1; } >once.jsonl
echo '{"t": "2026-11-30T12:00:20Z", "t_end": "2026-11-30T12:00:21Z", "kind": "load", "name": "bulk"}' >>once.jsonl
"$REPROD" correlate load.csv --events once.jsonl --json >a.json
is $? 6 "what happened once leaves it unsure"
is "$(field a.json '$c->{verdict}' load:bulk)" suggestive "the load is suggestive"
like "$(field a.json '$c->{reason}' load:bulk)" 'one occurrence, coincidence not excluded' "and says why no more"
for job in vacuum report; do
	like "$(field a.json '$c->{verdict}' job:$job)" '^(no evidence|cannot tell)$' "job:$job is acquitted"
done
is "$(field a.json '$d->{spikes}[0]{kind}')" "level shift" "the level shifted"
is "$(field a.json '$d->{spikes}[0]{start} =~ /T12:00:2[01]/ ? 1 : 0')" 1 "when it did"

printf '%s\n' '# m h dom mon dow user command' 'CRON_TZ=UTC' '*/2 * * * * root PGPASSWORD=hunter2 /opt/tidy.sh --token hunter2' \
	'30 2 * * * root /opt/nightly' 'x' >crontab
"$REPROD" correlate load.csv --crontab crontab --json >a.json
is "$(field a.json '$c->{occurrences}{scheduled}' job:tidy.sh)" 0 "schedules outside the capture have no occurrence"
like "$(field a.json '$d->{warnings}[0]')" 'crontab: line 5' "a bad line is told"
unlike "$(cat a.json)" hunter2 "no part of a command but its name is kept"

done_testing
