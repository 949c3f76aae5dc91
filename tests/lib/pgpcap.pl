#!/usr/bin/perl
# pgpcap.pl SERVER_IP:PORT... - a pcap on standard output in which a client asks each of
# these Postgres servers one question; each says version 15.N.
use strict;
use warnings;

binmode STDOUT;
print pack("VvvVVVV", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1);
my ($t, $n) = (0, 0);

sub frame {
	my ($from, $to, $seq, $ack, $flags, $data) = @_;
	my $packet = ("\2" x 12) . pack("n", 0x0800)
		. pack("CCnNCCn", 0x45, 0, 40 + length $data, 0, 64, 6, 0)
		. join("", map { pack "C4", split /\./, $_->[0] } $from, $to)
		. pack("nnNNCCnnn", $from->[1], $to->[1], $seq, $ack, 0x50, $flags, 1000, 0, 0) . $data;
	print pack("VVVV", 1700000000 + $t / 1000, $t % 1000 * 1000, length $packet, length $packet), $packet;
	$t++;
}
sub message { $_[0] . pack("N", 4 + length $_[1]) . $_[1] }

for my $server (map { [split /:/] } @ARGV) {
	my $client = ["10.0.0.1", 40000 + $n++];
	my $startup = pack("N", 196608) . "user\0u\0database\0d\0\0";
	my $hello = message("R", pack("N", 0)) . message("S", "server_version\0" . "15.$n\0")
		. message("Z", "I");
	my @talk = ([0, pack("N", 4 + length $startup) . $startup], [1, $hello],
		[0, message("Q", "select 1\0")],
		[1, message("T", pack("n", 1) . "?column?\0" . pack("NnNnNn", 0, 0, 23, 4, -1, 0))
			. message("D", pack("nN", 1, 1) . "1") . message("C", "SELECT 1\0") . message("Z", "I")]);
	my @seq = (101, 501);
	frame($client, $server, 100, 0, 2, "");
	frame($server, $client, 500, 101, 18, "");
	for (@talk) {
		my ($from, $data) = @$_;
		frame(($from ? ($server, $client) : ($client, $server)), $seq[$from], $seq[!$from], 24, $data);
		$seq[$from] += length $data;
	}
}
