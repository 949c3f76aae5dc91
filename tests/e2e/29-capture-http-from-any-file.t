#!/bin/bash
# What nginx logged is what is read, however the packets were kept: cut at 96 bytes, in
# files given in any order, compressed, in a pcapng of two link types, seen twice.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
port=$(perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
mkdir -p root && head -c 200000 /dev/zero | tr '\0' x >root/users && chmod -R a+rX .
cat >nginx.conf <<END
daemon off; worker_processes 1; pid $dir/pid; error_log $dir/error.log;
events { worker_connections 64; }
http {
	access_log $dir/access.log; default_type text/plain;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$port; root $dir/root; location /orders { return 201 "done"; } }
}
END
/usr/sbin/nginx -e "$dir/error.log" -c "$dir/nginx.conf" >nginx.out 2>&1 &
nginx=$!
at_exit 'kill $nginx 2>/dev/null'
url=http://127.0.0.1:$port
answers() { curl -s -o /dev/null --max-time 1 "$url/users"; }
wait_until 10 answers || bail "nginx did not start"
# A request is logged after its answer: not one of those that count.
wait_until 10 test -s access.log || bail "nginx logs nothing"
: >access.log
tcpdump_start all.pcap "$port" || bail "tcpdump did not start"
for _ in 1 2 3; do
	curl -s "$url/users" "$url/a" -I "$url/users?x=1"
	curl -s -0 "$url/users" -r 5-10
	curl -s --compressed -X DELETE "$url/orders"
	curl -s -X x-Own "$url/users"
	head -c 100000 /dev/zero | curl -s -H 'Expect: 100-continue' -T - "$url/orders"
	printf 'POST /orders HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab' |
		timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat >&3; cat <&3"
done >/dev/null 2>&1
tcpdump_stop all.pcap
awk '{ print $9 }' access.log | sort >logged

cat >remake.pl <<'END'
# remake.pl HOW OUT...: all.pcap again, in another form
use strict;
my ($how, @out) = @ARGV;
open my $in, '<:raw', 'all.pcap' or die;
local $/;
my $all = <$in>;
my ($at, @packets) = (24);
while ($at + 16 <= length $all) {
	my ($s, $us, $n, $wire) = unpack 'V4', substr $all, $at, 16;
	push @packets, [$s, $us, $wire, substr $all, $at + 16, $n];
	$at += 16 + $n;
}
my @files = map { open my $f, '>:raw', $_ or die; $f } @out;
sub block { my ($type, $body) = @_; my $n = 12 + length $body; pack('VV', $type, $n) . $body . pack 'V', $n }
if ($how eq 'ng') {
	print { $files[0] } block(0x0a0d0d0a, pack 'VvvVV', 0x1a2b3c4d, 1, 0, ~0 & 0xffffffff, ~0 & 0xffffffff),
		block(1, pack 'vvV', 1, 0, 0), block(1, pack 'vvVvvC4V', 101, 0, 1000000, 9, 1, 9, 0, 0, 0, 0);
} else {
	print $_ substr $all, 0, 24 for @files;
}
my $k = 0;
for (@packets) {
	my ($s, $us, $wire, $bytes) = @$_;
	if ($how eq 'ng') {
		my $raw = $k++ % 2; # every other one without its Ethernet header, in nanoseconds
		my $t = ($s * 1000000 + $us) * ($raw ? 1000 : 1);
		$bytes = substr $bytes, 14 if $raw;
		my $pad = "\0" x (-length($bytes) % 4);
		print { $files[0] } block(6, pack('V5', $raw, $t >> 32, $t & 0xffffffff, length $bytes, $wire - 14 * $raw) . $bytes . $pad);
		next;
	}
	$bytes = substr $bytes, 0, 96 if $how eq 'cut';
	print { $files[$how eq 'rotate' ? int($k++ * @files / @packets) : 0] } pack('V4', $s, $us, length $bytes, $wire) . $bytes
		for 1 .. ($how eq 'twice' ? 2 : 1);
}
END
check() { # NAME FILE...
	local name=$1
	shift
	"$REPROD" capture "$@" -o x.rcap --force --json >x.json 2>x.err || diag <x.err
	"$REPROD" capture cat x.rcap | sed -n 's/.*"status":\([0-9]*\).*/\1/p' | sort >read
	cmp -s logged read
	ok $? "$name: the statuses are those that were logged" || diag "$(sort read | uniq -c)"
	is "$(grep -c '"unpaired": {}' x.json)" 1 "$name: every request has its answer"
}
is "$(wc -l <logged)" 24 "nginx logged what was sent"
check whole all.pcap
perl remake.pl cut cut.pcap && check 'cut at 96 bytes' cut.pcap
[ "$("$REPROD" capture cat x.rcap | grep -c '"gap"')" -ge 9 ]
ok $? "and what was cut says so" || diag "$("$REPROD" capture cat x.rcap | head -5)"
perl remake.pl rotate r0 r1 r2 && check 'three files' r2 r0 r1
gzip -k all.pcap && check gzip all.pcap.gz
perl remake.pl ng all.pcapng && check 'two link types' all.pcapng
zstd -q all.pcapng && check zstd all.pcapng.zst
perl remake.pl twice twice.pcap && check 'seen twice' twice.pcap
done_testing
