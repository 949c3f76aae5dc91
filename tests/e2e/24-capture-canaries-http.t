#!/bin/bash
# A canary in every place of HTTP/1.1, HTTP/2, gRPC and WebSocket, requests and answers: none
# comes out of any command in any form.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/canaries.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
cat >make.pl <<'END_PERL'
use strict;
use warnings;
use Canaries;
my $c = Canaries->new(31);
my $p = Pcap->new('all.pcap');
my $t;
sub w { $c->word }
sub url { (my $e = $_[0]) =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02x', ord $1/ge; $e }
sub answer { my ($body, @headers) = @_; join("\r\n", 'HTTP/1.1 200 ' . w, @headers, 'Content-Length: ' . length $body) . "\r\n\r\n$body" }
sub ask {
	my ($line, $headers, $body, $reply) = @_;
	my $text = join("\r\n", $line, 'Host: ' . w . '.example', @$headers, defined $body ? 'Content-Length: ' . length $body : ()) . "\r\n\r\n" . ($body // '');
	$t->client($text);
	$t->server($reply // answer('{"id": "' . w . '", "mail": "' . $c->mail . '", "n": ' . $c->number(12) . '}', 'Content-Type: application/json', 'Set-Cookie: sid=' . w,
		'Location: http://' . w . '/' . w, 'ETag: "' . w . '"', 'X-Any: ' . w, 'Server: ' . w, 'Content-Disposition: attachment; filename="' . w . '"'));
}
$t = $p->talk(8080);
for my $v (w, $c->mail, $c->number(9), $c->number(16), $c->uuid, $c->card, $c->phone, $c->name) {
	my $e = url($v);
	my $all = '%' . join '%', unpack '(A2)*', unpack 'H*', $v;
	ask("GET /users/$e/orders?q=$e&q=$all&$e=1&n[]=$e&x=a%3D$e#$e HTTP/1.1", [ "User-Agent: $v", "Referer: http://$e/$e?$e", "Cookie: a=$e; $e=1", "Authorization: Bearer $e",
		"Authorization: Digest username=\"$v\", uri=\"/$e\"", "X-Forwarded-For: $e, 10.0.0.1", "X-Real-IP: $v", "X-Request-Id: $v", "traceparent: 00-$e-$e-01", "baggage: user=$e", "X-$e: 1",
		"If-None-Match: \"$v\"", "Range: bytes=$e-", "Accept-Language: $v", "Forwarded: for=\"$v\";host=$e", "X-Folded: a\r\n $v", "Sec-WebSocket-Key: $v" ]);
	ask("GET http://$e:$e\@$e.example:80/$e;m=$e;n=$e/$e.json;jsessionid=$e?$e HTTP/1.1", []);
	ask("OPTIONS $e HTTP/1.1", []), ask("$1 /a HTTP/1.1", []) if $v =~ /^([A-Za-z]+)$/;
	ask("GET //$e//../$e/%2e%2e/$all HTTP/1.1", []);
	ask('POST /orders HTTP/1.1', [ 'Content-Type: application/json; charset=' . w, 'Content-Encoding: ' . w ], "{\"$v 1+1\": \"$v\", \"a\": [[{\"b\": \"$v\", \"$v 2\": {\"c\": null}}]], \"n\": " . ($v =~ /^\d+$/ ? $v : $c->number(15)) . ', "password": "' . w . "\", \"in\": \"{\\\"x\\\": \\\"$v\\\"}\"}");
	ask('POST /orders HTTP/1.1', [ 'Content-Type: application/x-www-form-urlencoded' ], "a=$e&$e=$all&password=" . w . "&b=$all");
	ask('POST /orders HTTP/1.1', [ 'Content-Type: multipart/form-data; boundary=zz' . $e ], "--zz$e\r\nContent-Disposition: form-data; name=\"$v\"; filename=\"$v.png\"; filename*=UTF-8''$e\r\nContent-Type: $e\r\nX-$e: $v\r\n\r\n$v\r\n--zz$e--\r\n$v");
	ask('POST /orders HTTP/1.1', [ "Content-Type: $_" ], "<a b=\"$v\">$v<!-- $v --><![CDATA[$v]]></a>") for 'text/xml', 'text/plain', 'application/soap+xml', 'application/octet-stream', $e;
	ask('POST /graphql HTTP/1.1', [ 'Content-Type: application/json' ], "{\"query\": \"{ user(id: \\\"$v\\\") { id } }\", \"variables\": {\"id\": \"$v\"}, \"operationName\": \"$v a1b2\"}");
	my $chunk = sprintf '%x', length $v;
	$t->client("POST /orders HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\nContent-Type: text/plain\r\n\r\n$chunk;$e=\"$v\";sig=$e\r\n$v\r\n0;$e=$e\r\nX-A: $v\r\nX-$e: $v\r\nAuthorization: $v\r\n\r\n");
	$t->server("HTTP/1.1 100 $v\r\nX-A: $v\r\n\r\nHTTP/1.1 404 $v\r\nTransfer-Encoding: chunked\r\n\r\n$chunk;$e=$e\r\n$v\r\n0\r\nX-$e: $v\r\n\r\n");
}
$t->close;

# Upgraded, tunnelled and opaque bytes; a request that is none; an answer until close; one cut off.
$t = $p->talk(8080);
ask('GET /socket?token=' . w . ' HTTP/1.1', [ 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Protocol: ' . w ], undef, "HTTP/1.1 101 " . w . "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " . w . "\r\n\r\n");
my $frame = w;
$t->client("\x81" . chr(length $frame) . $frame)->server("\x81" . chr(length $frame) . $frame);
$t->close;
$t = $p->talk(8080);
ask('CONNECT ' . w . '.example:443 HTTP/1.1', [ 'Proxy-Authorization: Basic ' . w ], undef, "HTTP/1.1 200 " . w . "\r\n\r\n");
$t->client(w)->server(w);
$t->close;
$t = $p->talk(8080);
ask('GET /a HTTP/1.0', [], undef, "HTTP/1.0 200 OK\r\nX-A: " . w . "\r\n\r\n" . w);
$t->close;
for my $broken ("GET /" . w . " HTTP/1.1\r\nContent-Length: " . w . "\r\n\r\n", "GET /" . w . "\r\n\r\n", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n" . w, "GET /a HTTP/1.1\r\nX-A: " . w . "\r\n" . w,
	"POST /a HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n" . w, "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" . w . "\r\n") {
	$t = $p->talk(8080);
	ask('GET /health HTTP/1.1', []);
	$t->client($broken)->server('HTTP/1.1 400 ' . w . "\r\nContent-Length: 0\r\n\r\n");
	$t->close;
}
for my $last (w, "GET /users/" . w . " HTTP/1.1\r\nHost: h\r\n\r\n") {
	$t = $p->talk(8080);
	ask('GET /health HTTP/1.1', []);
	$t->client($last);
	$t->close;
}

# HTTP/2: literal fields never indexed, indexed, with names and values; gRPC; pushes and farewells.
sub frame { my ($type, $flags, $stream, $body) = @_; substr(pack('N', length $body), 1) . pack('CCN', $type, $flags, $stream) . $body }
sub text { my ($s) = @_; (length $s < 127 ? chr length $s : "\x7f" . do { my $n = length($s) - 127; my $o = ''; while ($n > 127) { $o .= chr(128 | $n & 127); $n >>= 7 } $o . chr $n }) . $s }
sub fields { my ($first, @pairs) = @_; my $o = ''; while (my ($k, $v) = splice @pairs, 0, 2) { $o .= $first . text($k) . text($v) } $o }
sub h2_answer { my ($n, $type) = @_; frame(1, 4, $n, fields("\x40", ':status', '200', 'content-type', $type, 'set-cookie', w, 'x-any', w, lc w, w)) . frame(0, 0, $n, w)
	. frame(1, 5, $n, fields("\0", 'grpc-status', '5', 'grpc-message', url(w), 'x-trailer', w)) }
$t = $p->talk(8080);
$t->client("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(4, 0, 0, ''));
$t->server(frame(4, 0, 0, '') . frame(4, 1, 0, ''));
my $n = 1;
for my $v (w, $c->mail, $c->number(16), $c->uuid, $c->phone, $c->name) {
	for my $first ("\0", "\x10", "\x40") {
		my ($e, $body) = (url($v), "{\"a\": \"$v\"}");
		$t->client(frame(1, 4, $n, fields($first, ':method', 'POST', ':scheme', 'http', ':path', "/users/$e?q=$e&$e=1", ':authority', "$e.example", 'cookie', "a=$v", 'authorization', $v, 'user-agent', $v, 'content-type', 'application/json', 'x-any', $v, lc "x-$e", $v))
			. frame(0, 0, $n, $body) . frame(1, 5, $n, fields($first, 'x-trailer', $v)));
		$t->server(h2_answer($n, 'application/json'));
		$n += 2;
		my $message = "\x0a" . chr(length $v) . $v;
		$t->client(frame(1, 4, $n, fields($first, ':method', 'POST', ':scheme', 'http', ':path', "/shop.v1.Orders/Get$e", ':authority', $e, 'te', 'trailers', 'content-type', 'application/grpc+proto', 'grpc-timeout', '5S', 'x-bin', $v)) . frame(0, 1, $n, "\0" . pack('N', length $message) . $message));
		$t->server(h2_answer($n, 'application/grpc'));
		$n += 2;
	}
}
$t->client(frame(1, 4, $n, fields("\0", ':method', 'GET', ':path', '/' . w, ':bad', w)) . frame(3, 0, $n, pack 'N', 8) . frame(6, 0, 0, substr w, 0, 8) . frame(0x42, 0, 0, w));
$t->server(frame(7, 0, 0, pack('NN', $n, 0) . w));
$t->close;
$p->close;
$c->save('canaries');
END_PERL
perl -I"$canaries_lib" make.pl || bail "the packets were not made"

canaries_sound canaries all.pcap 8
canaries_try default canaries all.pcap
canaries_try permute canaries all.pcap --ids permute
[ "$(grep -c '"type":"request"' default.cat--values.txt)" -ge 150 ]
ok $? "the requests are there" || diag <default.show.txt
grep -q 'grpc' default.cat--values.txt
ok $? "those of gRPC too"
done_testing
