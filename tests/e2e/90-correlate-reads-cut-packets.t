#!/bin/bash
# A capture of packets cut at 96 bytes has the latencies of the whole packets.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"
make_pcap() { # SNAPLEN: 300 requests with answers of three packets
	perl -e '
		my $snap = shift;
		binmode STDOUT;
		print pack("VvvVVVV", 0xa1b2c3d4, 2, 4, 0, 0, $snap, 1);
		my ($t, @seq) = (0, 101, 501);
		sub frame {
			my ($from, $flags, $data) = @_;
			my @ip = $from ? ("0a000002", "0a000001") : ("0a000001", "0a000002");
			my @p = $from ? (80, 40000) : (40000, 80);
			my $b = ("\2" x 12) . pack("n", 0x0800) . pack("CCnNCCn", 0x45, 0, 40 + length $data, 0, 64, 6, 0)
				. pack("H8H8", @ip) . pack("nnNNCCnnn", @p, $seq[$from] - ($flags & 2 ? 1 : 0), $seq[!$from], 0x50, $flags, 1000, 0, 0) . $data;
			my $kept = substr $b, 0, $snap;
			print pack("VVVV", 1700000000 + int($t / 1e6), $t % 1e6, length $kept, length $b), $kept;
			$seq[$from] += length $data;
		}
		frame(0, 2, ""); frame(1, 18, "");
		for my $i (1 .. 300) {
			$t += 500_000;
			frame(0, 24, "POST /cart HTTP/1.1\r\nContent-Length: 900\r\n\r\n" . "q" x 900);
			$t += 2_000 + $i * 10;
			frame(1, 24, "HTTP/1.1 200 OK\r\nContent-Length: 2500\r\n\r\n" . "x" x 500);
			$t += 1000;
			frame(1, 24, "x" x 1000);
			$t += 1000;
			frame(1, 24, "x" x 1000);
		}' "$1"
}
make_pcap 65535 >whole.pcap
make_pcap 110 >cut.pcap
for f in whole cut; do
	"$REPROD" capture -q $f.pcap -o $f.rcap >out 2>err
	is $? 0 "$f packets" || diag <err
	"$REPROD" correlate $f.rcap --json >$f.json 2>$f.err
done
times() { perl -MJSON::PP -0777 -ne 'print join " ", map { map { "$_->{n}:" . ($_->{p50_ms} // "-") } @{ $_->{points} } } @{ decode_json($_)->{series} }' "$1"; }
like "$(times whole.json)" '^[0-9]+:[0-9.]+ ' "there are latencies"
is "$(times cut.json)" "$(times whole.json)" "and the cut packets' are the same"
unlike "$(cat cut.err cut.json)" 'missing packets were left out' "none was left out"
done_testing
