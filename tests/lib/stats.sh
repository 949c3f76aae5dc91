# stats.sh - looks into recordings of 'reprod correlate watch'; source it after tap.sh.
#
#   stats_dump F.rstat            its bytes, blocks unpacked: names can be searched for
#   stats_size F.rstat            bytes, 0 when it is not there
#   stats_traffic FROM TO         CSV of requests over these epoch seconds, for correlate
#   stats_ids OUT.json            the ids of its conditions and metrics, a line each

stats_dump() {
	perl -e '
		local $/; open my $f, "<", $ARGV[0] or die; binmode $f; my $b = <$f>;
		open my $z, "|-", "zstd -dcq 2>/dev/null" or die; binmode $z; binmode STDOUT;
		my $raw = substr($b, 0, 16);
		for (my $at = 16; $at + 32 <= length $b;) {
			my ($magic, $kind, $codec, $stored) = unpack("a4CCx2V", substr($b, $at, 16));
			last if $magic ne "RBLK";
			my $p = substr($b, $at + 32, $stored);
			$codec ? print $z $p : ($raw .= $p);
			$at += 32 + $stored;
		}
		close $z; print $raw;' "$1"
}

stats_size() { stat -c %s "$1" 2>/dev/null || echo 0; }

stats_grew() { [ "$(stats_size "$1")" -gt "$2" ]; }

stats_traffic() {
	perl -e '
		my ($from, $to) = @ARGV; srand(7); print "t,route,ms\n";
		for (my $t = $from; $t < $to; $t += 0.02) {
			printf "%.3f,GET /a,%.3f\n", $t, 2 + rand() + (rand() < 0.01 ? 40 : 0);
		}' "$@"
}

stats_ids() { grep -o '"id": "[^"]*"' "$1" | sed 's/"id": "//; s/"$//' | sort -u; }
