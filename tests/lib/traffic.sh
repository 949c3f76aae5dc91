# traffic.sh - latencies of two routes over two hours, for tests that store them somewhere.
#
#   traffic_csv >d.csv               t,route,ms,status: 20,000 requests, out of order
#   traffic_same A.json B.json       the same requests, errors, baselines and spikes?
#
# "POST /b" is slow (x10 for half of its requests) in minutes 30-33, 60-63 and 90-93. Latencies
# of the first route's first requests lie around every power of two of microseconds.

traffic_csv() {
	perl -e '
		srand(3);
		print "t,route,ms,status\n";
		my @edges = map { my $k = $_; map { 2**$k + $_ } -1 .. 1 } 0 .. 30;
		for my $i (0 .. 19999) {
			my $t = 1796040000 + rand(7200);
			my $write = rand() < 0.4;
			my $ms = 2 * exp(rand(1) + rand(1) + rand(1) + rand(1));
			my $in = ($t - 1796040000) % 1800;
			$ms *= 10 if $write && $t > 1796041700 && $t < 1796045700 && $in < 180 && rand() < 0.5;
			($write, $ms) = (0, $edges[$i] / 1000) if $i < @edges;
			printf "%.3f,%s,%.3f,%d\n", $t, $write ? "POST /b" : "GET /a", $ms, rand() < 0.01 ? 503 : 200;
		}'
}

traffic_same() {
	perl -MJSON::PP -e '
		my ($a, $b) = map { open my $f, "<", $_ or die; local $/; decode_json(<$f>) } @ARGV;
		my $bad = 0;
		my %other = map { $_->{route} => $_ } @{$b->{series}};
		for my $x (@{$a->{series}}) {
			my $y = $other{$x->{route}} or $bad++, print("no route $x->{route}\n"), next;
			for my $key ("requests", "errors") {
				$bad++, print "$x->{route}: $key $x->{$key} and $y->{$key}\n" if $x->{$key} != $y->{$key};
			}
			my ($p, $q) = map { $_->{baselines}[0]{p99_ms} } $x, $y;
			$bad++, print "$x->{route}: p99 $p and $q\n" if abs($p / $q - 1) > 0.016;
		}
		$bad++, print "spikes: @{[scalar @{$a->{spikes}}]} and @{[scalar @{$b->{spikes}}]}\n"
			if @{$a->{spikes}} != @{$b->{spikes}} || !@{$a->{spikes}};
		for my $i (0 .. $#{$a->{spikes}}) {
			my ($x, $y) = ($a->{spikes}[$i], $b->{spikes}[$i] // {});
			for my $key ("p99_ms", "max_ms", "n") {
				$bad++, print "spike $i: $key $x->{$key} and $y->{$key}\n"
					if abs($x->{$key} / ($y->{$key} || 1) - 1) > 0.016;
			}
		}
		exit($bad > 0);' "$@"
}
