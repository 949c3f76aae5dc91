#!/usr/bin/env bash
# A real Prometheus: bucket counters become requests, exactly; gaps and restarts are known.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/prometheus.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
# An hour at 15 s, two instances of two handlers with 60 requests a step each. Instance b restarts
# at step 120; nothing was scraped in steps 60 to 79. Handler /y is slow in steps 37-39, 117-119,
# 157-159, 197-199 and 237-239. Each request is in a classic and a native histogram.
perl -MPOSIX -e '
	srand(4);
	my @le = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, "+Inf");
	my (%c, %n);
	for my $i (0 .. 240) {
		my $t = 1796040000 + 15 * $i;
		delete $c{b}, delete $n{b} if $i == 120;
		for my $at ("a", "b") {
			for my $h ("/x", "/y") {
				for (1 .. 60) {
					my $v = 0.02 * exp(rand(1) + rand(1) - 1);
					$v *= 20 if $h eq "/y" && $i % 40 > 36 && rand() < 0.4;
					$c{$at}{$h}[$_]++ for grep { $le[$_] eq "+Inf" || $v <= $le[$_] } 0 .. $#le;
					$n{$at}{$h}{POSIX::ceil(log($v) / log(2) * 8)}++;
				}
				next if $i >= 60 && $i < 80;
				printf "%d d_seconds_bucket instance=%s,handler=%s,le=%s %d\n", $t, $at, $h, $le[$_], $c{$at}{$h}[$_] // 0
					for 0 .. $#le;
				printf "%d n_seconds instance=%s,handler=%s native 3 %s\n", $t, $at, $h,
					join " ", map { "$_:$n{$at}{$h}{$_}" } sort { $a <=> $b } keys %{$n{$at}{$h}};
			}
			printf "%d queue instance=%s %g\n", $t, $at, $i % 40 > 36 ? 50 + rand(9) : rand(10);
			printf "%d ops_total instance=%s %d\n", $t, $at, $i * 30;
			printf "%d s_seconds instance=%s,quantile=0.99 0.1\n", $t, $at;
		}
	}' >samples
prometheus_start
prometheus_write <samples
ok $? "samples are written"
u=prometheus:$prometheus_url
range='from=2026-11-30T12:00:00Z&to=2026-11-30T13:00:00Z'

series() { # FILE: routes with their requests, then how many spikes
	perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>);
		print join " ", (map { "$_->{route}:$_->{requests}" } sort { $a->{route} cmp $b->{route} } @{$d->{series}}),
			map { "$_->{route}@" . substr($_->{start}, 11, 5) } @{$d->{spikes}}' <"$1"
}
# 240 steps less the 21 that touch the gap, of 60 requests of two instances.
"$REPROD" correlate "$u?query=d_seconds_bucket&$range&step=15s&route=handler" --bucket 15s --json >a.json 2>err
is "$? $(cat err)" "0 " "classic histograms are read"
is "$(series a.json)" "/x:26280 /y:26280 /y@12:09 /y@12:29 /y@12:39 /y@12:49 /y@12:59" "every request is counted; slow time is found"
like "$(cat a.json)" '2 restarts of counters' "restarts are told"
like "$(cat a.json)" '18 of 241 steps have no sample' "so are gaps"
"$REPROD" correlate "$u?query=n_seconds{handler=~\"/.*\"}&$range&step=15s&route=handler" --bucket 15s --json >b.json 2>err
is "$? $(cat err)" "0 " "native histograms are read"
is "$(series b.json)" "$(series a.json)" "and give the same"
like "$(cat b.json)" '2 restarts of counters' "restarts too"

"$REPROD" correlate "$u?query=sum by (le, handler) (increase(d_seconds_bucket[1m]))&$range&route=handler" --json >c.json
perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); exit(abs($d->{requests} / 52800 - 1) > 0.01)' <c.json
ok $? "increase() is taken as what was added in its minute"
"$REPROD" correlate "$u?query=sum by (handler) (rate(n_seconds[1m]))&$range&route=handler" --json >c.json
perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); exit(abs($d->{requests} / 52800 - 1) > 0.01)' <c.json
ok $? "and rate() likewise, of native histograms"

curl -fsS -G "$prometheus_url/api/v1/query_range" --data-urlencode 'query=d_seconds_bucket and present_over_time(d_seconds_bucket[30s])' \
	-d 'start=1796040000&end=1796043600&step=15' >saved.json
"$REPROD" correlate "prometheus:saved.json?route=handler" --bucket 15s --json >d.json
is "$(series d.json)" "$(series a.json)" "a saved answer gives the same"

metrics() { # FILE
	perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>);
		print join " ", sort map { $_->{id} } grep { $_->{kind} eq "metric" && $_->{id} ne "traffic" } @{$d->{conditions}}' <"$1"
}
"$REPROD" correlate "$u?query=d_seconds_bucket&$range&step=15s&route=handler" --metric "$u?query=queue&step=15s" \
	--metric "$u?query=rate(ops_total[1m])&name=ops&labels=instance" --json >f.json
is "$(metrics f.json)" "metric:ops{a} metric:ops{b} metric:queue{instance=a} metric:queue{instance=b}" "metrics are candidates"
curl -fsS "$prometheus_url/api/v1/query_range?query=queue&start=1796040000&end=1796043600&step=15" >queue.json
"$REPROD" correlate "prometheus:saved.json?route=handler" --metric "prometheus:queue.json?labels=instance" --json >f.json
is "$(metrics f.json)" "metric:queue{a} metric:queue{b}" "saved ones too"

refused() { # WANTED-CODE WORDS NAME PARAMETERS
	out=$("$REPROD" correlate "$u?$4" 2>&1)
	is $? "$1" "$3: exit code"
	like "$out" "$2" "$3: says why"
}
refused 3 'is a summary: its quantiles cannot be merged' "a summary" "query=s_seconds&$range"
refused 3 'is no histogram' "a gauge" "query=queue&$range"
refused 3 'no series' "a name that is not there" "query=nosuch_bucket&$range"
refused 3 'refused the question: .*parse error' "no PromQL" "query=x{&$range"
refused 2 'cannot be merged' "a quantile" "query=histogram_quantile(0.99, d_seconds_bucket)&$range"
refused 2 "is not the query's \[range\]" "overlapping increases" "query=increase(d_seconds_bucket[5m])&step=1m&$range"
refused 3 'is step= shorter than the scrape interval' "a step that is too short" "query=d_seconds_bucket&step=1s&$range"
refused 2 'needs from=' "no range" "query=d_seconds_bucket"
out=$("$REPROD" correlate "$u?query=d_seconds_bucket&$range&route=handler" --metric "$u?query=nosuch" 2>&1)
is $? 3 "a metric that is not there: exit code"
like "$out" 'no point of any series' "and why"

done_testing
