#!/bin/bash
# A metric that leads the stalls lines up beside one that does not; files of all forms say
# the same; what cannot be read is told.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

# Six hours of 5 requests a second; one minute in about twenty is slow, and "depth" was
# up for the two minutes before. "noise" goes its own way.
perl -e '
	srand(11);
	my ($t0, @slow) = (1796040000);
	for (my $m = 10; $m < 350; $m += 14 + int(rand(12))) { $slow[$m] = 1 }
	open my $csv, ">", "traffic.csv";
	print $csv "t,route,ms\n";
	for (my $t = 0; $t < 21600; $t += 0.2) {
		my $ms = 10 * exp(0.5 * (rand() + rand() - 1));
		$ms *= 20 if $slow[int($t / 60)] && rand() < 0.3;
		printf $csv "%.3f,GET /cart,%.3f\n", $t0 + $t, $ms;
	}
	my ($noise, $count) = (0, 0);
	my %out;
	open $out{$_}, ">", $_ for qw(long.csv wide.csv lines.jsonl ms.csv);
	print { $out{"long.csv"} } "t,name,value\n";
	print { $out{"wide.csv"} } qq("Time";"depth";"noise";"work_total"\r\n);
	for my $m (0 .. 359) {
		my $depth = 10 + rand() * 4 + ($slow[$m + 1] || $slow[$m + 2] ? 20 : 0);
		$noise = 0.9 * $noise + rand() - 0.5;
		$count = $m % 97 == 50 ? 3 : $count + 100 + int(rand(20));
		my $t = $t0 + 60 * $m;
		my @utc = gmtime($t);
		my $wall = sprintf "%04d-%02d-%02d %02d:%02d:%02d", 1900 + $utc[5], 1 + $utc[4], @utc[3, 2, 1, 0];
		print { $out{"wide.csv"} } qq("$wall+00:00";$depth;$noise;$count\r\n);
		my %v = (depth => $depth, noise => $noise, work_total => $count);
		for (sort keys %v) {
			print { $out{"long.csv"} } "$t,$_,$v{$_}\n";
			print { $out{"ms.csv"} } "${t}000,$_,$v{$_}\n";
			print { $out{"lines.jsonl"} } qq({"t": $t, "name": "$_", "value": $v{$_}}\n);
		}
	}'

# field FILE PERL [ID]: a value of a JSON document in $d; $c is the condition ID.
field() {
	perl -MJSON::PP -e '
		local $/;
		open my $f, "<", $ARGV[0] or die;
		my $d = decode_json(<$f>);
		my ($c) = grep { $_->{id} eq ($ARGV[2] // "") } @{$d->{conditions}};
		my $v = eval $ARGV[1];
		die $@ if $@;
		print $v // "null";' "$@"
}

"$REPROD" correlate traffic.csv --metric long.csv --json >a.json 2>err
is $? 0 "a metric that lines up ends with 0"
is "$(cat err)" "" "nothing on stderr"
is "$(field a.json '$c->{verdict}' metric:depth)" "lines up" "the metric that leads lines up"
is "$(field a.json '$c->{lag_s} >= 60 && $c->{lag_s} <= 120 ? 1 : $c->{lag_s}' metric:depth)" 1 "with its lag"
like "$(field a.json '$c->{verdict}' metric:noise)" '^(no evidence|cannot tell)$' "the one that does not is acquitted"
like "$(field a.json '$c->{verdict}' metric:work_total)" '^(no evidence|cannot tell)$' "so is the counter, with its resets"
like "$(field a.json '$c->{verdict}' traffic)" '^(no evidence|cannot tell)$' "the traffic itself is tested and acquitted"

said() { field "$1" 'join " ", map { "$_->{id} $_->{verdict} $_->{p}" } @{$d->{conditions}}'; }
for form in wide.csv lines.jsonl ms.csv; do
	"$REPROD" correlate traffic.csv --metric $form --json >b.json
	is "$(said b.json)" "$(said a.json)" "$form says the same"
done
like "$(field b.json '"@{$d->{warnings}}"')" 'milliseconds' "epoch milliseconds are told"
gzip -k long.csv
"$REPROD" correlate traffic.csv --metric long.csv.gz --json >b.json
is "$(said b.json)" "$(said a.json)" "so does a compressed file"
"$REPROD" correlate traffic.csv --metric long.csv --metric long.csv --json >b.json
is "$(said b.json)" "$(said a.json)" "so does the same file given twice"
like "$(field b.json '"@{$d->{warnings}}"')" 'have the time of another' "which is told"

{ cat long.csv; echo '1796040000,depth,many'; echo '1796040060,depth'; } >mixed.csv
"$REPROD" correlate traffic.csv --metric mixed.csv --json >b.json
is "$(field b.json '$d->{complete} ? 1 : 0')" 0 "bad lines make it incomplete"
like "$(field b.json '"@{$d->{warnings}}"')" '2 lines of metrics.*mixed.csv: line 1082' "and the first is told"

printf 't,depth\n2026-11-30 12:00:00,1\n' >local.csv
"$REPROD" correlate traffic.csv --metric local.csv 2>err
is $? 3 "a time without a zone is refused"
like "$(cat err)" 'local.csv: line 2: .*zone' "with its line"
"$REPROD" correlate traffic.csv --metric local.csv --zone Europe/Berlin >out 2>err
[ $? -ne 3 ]
ok $? "and read with --zone"
: >empty.csv
"$REPROD" correlate traffic.csv --metric empty.csv 2>err
is $? 3 "an empty file is refused"
like "$(cat err)" 'no value in it' "in words"
printf 't,name,value\n1596040000,depth,1\n1596040060,depth,2\n' >old.csv
"$REPROD" correlate traffic.csv --metric old.csv --json >b.json
like "$(field b.json '"@{$d->{warnings}}"')" 'no value is of the time of the traffic' "values of another time are told"

done_testing
