#!/bin/bash
# A canary in every place of an HTTP request, sent over a real connection: none of them
# is in the capture, in any encoding; what is an API's word or small number still is.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

# ~ becomes a word of its own each time, ^B a boundary, $ the length of the body.
cat >talk.pl <<'END'
use strict;
use IO::Socket::INET;
my ($n, @canaries, @requests) = (0);
my @heads = (
	"GET /users/~/orders/42?page=3&q=~&%40=1&~=2&redirect=http%3A%2F%2F~%2F HTTP/1.1",
	"GET /~;jsessionid=~;v=~/v1/~.js?~ HTTP/1.1",
	"GET http://~:~\@~.example/a/~?x=~#~ HTTP/1.1",
	"GET /health HTTP/1.1\r\nUser-Agent: ~/1.0 (~; ~)\r\nReferer: http://~.example/~?~=~\r\n"
		. "Origin: http://~.example\r\nCookie: sid=~; ~=1\r\nAuthorization: Bearer ~\r\n"
		. "Proxy-Authorization: Basic ~\r\nX-Api-Key: ~\r\nX-Auth-Token: ~\r\nX-CSRF-Token: ~\r\n"
		. "X-Forwarded-For: ~, 10.0.0.1\r\nForwarded: for=~;host=~.example\r\nVia: 1.1 ~\r\n"
		. "X-Request-Id: ~\r\ntraceparent: 00-~-~-01\r\nIf-None-Match: \"~\", W/\"~\"\r\n"
		. "Accept: text/~\r\nAccept-Language: ~\r\nAccept-Encoding: ~\r\nCache-Control: ~\r\n"
		. "Content-Type: ~/~; x=~\r\nX-~-7f3a9b1: 1\r\nX-Whatever: ~\r\nX-Json: {\"~q1w2e3\": \"~\"}\r\n"
		. "If-Modified-Since: ~\r\nRange: ~=0-5\r\nUpgrade: ~\r\nConnection: ~\r\nFrom: ~\@~.example",
);
push @requests, "$_\r\nHost: ~.example\r\n\r\n" for @heads;
my @bodies = (
	['application/json', '{"name": "~", "a1b2c3~d4e5f6": 1, "deep": [{"mail": "~@x.org", "in": "{\"k\": \"~\"}"}], "password": "~", "token": {"any": "~"}, "n": 5}'],
	['application/json', '{"broken": ~'],
	['application/x-ndjson', "{\"a\": \"~\"}\n{\"b\": \"~\"}\n"],
	['application/x-www-form-urlencoded', 'name=~+~&%40~=1&pin=~&n=5&~'],
	['text/plain', 'Dear ~, yours ~'],
	['application/xml', '<~ a="~"><!-- ~ -->~</~>'],
	['application/octet-stream', "\0\1~\2"],
	['', '~'],
	['multipart/form-data; boundary=^B', "preamble ~\r\n--^B\r\nContent-Disposition: form-data; name=\"page\"\r\n\r\n~\r\n"
		. "--^B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"~.png\"\r\nContent-Type: image/~\r\nX-~: ~\r\n\r\n~\r\n--^B--\r\n~"],
);
for (@bodies) {
	my ($type, $body) = @$_;
	push @requests, "POST /orders HTTP/1.1\r\nHost: localhost\r\n"
		. ($type && "Content-Type: $type\r\n") . "Content-Length: \$\r\n\r\n$body";
}
push @requests, "POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
	. "Transfer-Encoding: chunked\r\nTrailer: X-Check\r\n\r\n2a\r\n~ ~.\r\n0\r\nX-Check: ~\r\n\r\n";
sub canary { my $c = sprintf 'Zeisig%sVogel', join '', map { chr 97 + int rand 26 } 1 .. 9; push @canaries, $c; $c }
srand 7;
my $boundary = canary();
for (@requests) {
	s/\^B/$boundary/g;
	s/~/canary()/ge;
	my ($head, $body) = split /\r\n\r\n/, $_, 2;
	my $size = length $body;
	s/Content-Length: \$/Content-Length: $size/;
}
open my $list, '>', 'canaries' or die;
print $list "$_\n" for @canaries;
close $list;
my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die;
open my $port, '>', 'port.new' or die;
print $port $server->sockport, "\n";
close $port;
rename 'port.new', 'port';
# Not before tcpdump listens.
my $tries = 0;
select undef, undef, undef, 0.05 until -e 'go' || $tries++ > 200;
for my $request (@requests) {
	my $client = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $server->sockport) or die;
	my $peer = $server->accept;
	print $client $request;
	$client->flush;
	my $got = '';
	sysread $peer, $got, 65536, length $got while length $got < length $request;
	print $peer "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	$peer->flush;
	sysread $client, my $answer, 65536;
	close $client;
	close $peer;
}
print scalar @requests, "\n";
END

perl talk.pl >sent &
talk=$!
wait_until 10 test -s port
port=$(cat port)
tcpdump_start all.pcap "$port"
touch go
wait "$talk"
tcpdump_stop all.pcap

"$REPROD" capture all.pcap -o all.rcap >out 2>err
is $? 0 'the capture is made' || diag <err
"$REPROD" capture verify --canary canaries all.rcap >out 2>err
is $? 0 'no canary is in it' || diag <out
"$REPROD" capture cat --values all.rcap >all.jsonl
is "$(grep -c '"type":"request"' all.jsonl)" "$(cat sent)" 'every request is'
grep -q '"route":"GET /users/{}/orders/{id}"' all.jsonl
ok $? 'the route keeps the words of the API'
grep -q '"text":"42"' all.jsonl
ok $? 'a small number is kept'
"$REPROD" capture show --policy all.rcap >out 2>err
is $? 0 'the report of places is printed'
grep -qE ' authorization$' out
ok $? 'it names the header that was dropped'
done_testing
