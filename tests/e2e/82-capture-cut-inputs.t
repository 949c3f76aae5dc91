#!/bin/bash
# Inputs cut at any byte, given a byte at a time, or written to where there is no room: an
# answer of 0 or 3 (4 for the disk), never a crash, and what was kept can be read.
. "$(dirname "$0")/../lib/tap.sh"

lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
cd "$dir" || exit 1
cat >make.pl <<'END_PERL'
use strict;
use warnings;
use Canaries;
my $p = Pcap->new('a.pcap');
my $t = $p->talk(8080);
$t->client("GET /users/4?q=a HTTP/1.1\r\nHost: h\r\n\r\n")->server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
$t->close;
$p->close;
sub file { my ($name, $text) = @_; open my $f, '>:raw', $name or die; print $f $text; close $f }
file('a.csv', '2026-01-01 00:00:01.000 UTC,"u","d",7,"[local]",6a.1,1,"SELECT",2026-01-01 00:00:00 UTC,3/4,0,LOG,00000,"duration: 1.000 ms  statement: select 1",,,,,,,,,"app","client backend",,0' . "\n");
file('a.json', '{"timestamp":"2026-01-01 00:00:01.000 UTC","user":"u","dbname":"d","pid":7,"session_id":"6a.1","line_num":1,"error_severity":"LOG","message":"duration: 1.000 ms  statement: select 1"}' . "\n");
file('a.gor', "1 0a1b2c3d4e5f60718293a4b5 1767225600000000000 0\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n\n\360\237\220\265\360\237\231\210\360\237\231\211\n");
END_PERL
perl -I"$lib" make.pl || bail "the inputs were not made"

# In steps that share no factor with the length of a field.
for input in a.pcap a.csv a.json a.gor; do
	size=$(stat -c %s "$input")
	bad=
	for ((n = 1; n <= size; n += 7)); do
		head -c "$n" "$input" >"cut.$input"
		"$REPROD" capture "cut.$input" -q -o cut.rcap --force >cut.out 2>&1
		code=$?
		[ $code = 0 ] || [ $code = 3 ] || bad="$bad $n:$code"
		[ $code = 3 ] || "$REPROD" capture show cut.rcap >/dev/null 2>&1 || bad="$bad $n:unreadable"
	done
	is "$bad" '' "$input cut at any place"
	rm -f cut.rcap
done

"$REPROD" capture a.pcap -q -o a.rcap || bail "no capture"
size=$(stat -c %s a.rcap)
bad=
for ((n = 0; n <= size; n += 23)); do
	head -c "$n" a.rcap >cut.rcap
	"$REPROD" capture cat cut.rcap >cut.out 2>&1
	code=$?
	[ $code = 0 ] || [ $code = 3 ] || bad="$bad $n:$code"
done
is "$bad" '' "a capture cut at any place"

dd if=a.pcap bs=1 2>/dev/null | "$REPROD" capture - -q -o slow.rcap
is $? 0 "a pipe that gives a byte at a time"
is "$("$REPROD" capture cat slow.rcap | grep -c '"type":"request"')" 1 "loses nothing"
"$REPROD" capture a.pcap -q -o /dev/full --force >full.out 2>&1
is $? 4 "a full disk is told"
(
	trap '' XFSZ
	ulimit -f 0
	"$REPROD" capture a.pcap -q -o small.rcap 2>small.err
)
is $? 4 "so is a file that may not grow"
"$REPROD" capture gone.pcap -q -o gone.rcap >gone.out 2>&1
is $? 3 "an input that is not there is bad input"
"$REPROD" capture cat a.rcap 2>pipe.err | head -c 1 >/dev/null
[ "${PIPESTATUS[0]}" -lt 126 ] || [ "${PIPESTATUS[0]}" = 141 ]
ok $? "a reader that goes is no crash"
done_testing
