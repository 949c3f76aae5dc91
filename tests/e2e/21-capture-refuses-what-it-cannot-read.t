#!/bin/bash
# Inputs that are no Postgres traffic, permissions that are missing: the exit code, what
# it is, and what to do; and no file is left that holds nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
# One client packet behind a handshake: pcap FILE PORT HEX
make_pcap() {
	perl -e '
		my ($port, $hex) = @ARGV;
		binmode STDOUT;
		print pack("VvvVVVV", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1);
		my $t = 0;
		sub frame {
			my ($from, $seq, $flags, $data) = @_;
			my @ip = $from ? ("0a000002", "0a000001") : ("0a000001", "0a000002");
			my @p = $from ? ($port, 40000) : (40000, $port);
			my $b = ("\2" x 12) . pack("n", 0x0800) . pack("CCnNCCn", 0x45, 0, 40 + length $data, 0, 64, 6, 0)
				. pack("H8H8", @ip) . pack("nnNNCCnnn", @p, $seq, 1, 0x50, $flags, 100, 0, 0) . $data;
			print pack("VVVV", 1700000000, $t++, length $b, length $b), $b;
		}
		frame(0, 100, 2, ""); frame(1, 500, 18, ""); frame(0, 101, 16, pack("H*", $hex));' "$2" "$3" >"$1"
}
refused() { # EXIT REGEX NAME ARGUMENT...
	local want=$1 regex=$2 name=$3
	shift 3
	"$REPROD" capture "$@" -o none.rcap >out 2>err
	is $? "$want" "$name: exit $want" || diag <err
	like "$(cat err)" "$regex" "$name: says so"
	[ ! -e none.rcap ]
	ok $? "$name: leaves no file" || rm -f none.rcap
}

make_pcap http.pcap 80 474554202f20485454502f312e310d0a0d0a
make_pcap tls.pcap 443 160301020001000001fc0303
make_pcap other.pcap 22 5353482d322e300d0a
: >empty
printf 'hello, this is a letter\n' >letter.txt
printf '10.0.0.1 took GET / HTTP/1.1 in 5\n' >access.log
printf "\375" >letter.xz
printf "7zXZ\0 and the rest of it\n" >>letter.xz
head -c 30 http.pcap >stub.pcap
refused 3 '1 TLS' "TLS on an unknown port" tls.pcap
refused 3 'no Postgres or HTTP traffic in 3 packets' "another protocol" other.pcap
refused 3 'empty' "an empty file" empty
refused 3 'its format is not known' "a text" letter.txt
refused 3 'HTTP requests, in a format.*--log-format' "an access log of nobody" access.log
refused 3 'xz.*xzcat' "an xz file" letter.xz
refused 3 'stub.pcap' "a file cut in its first packet" stub.pcap
refused 3 "'nowhere'" "a missing file" nowhere
refused 2 'nothing to capture' "no input"
refused 2 'format .*tcpdump' "an unknown format" http.pcap --format tcpdump
refused 2 'is not a port' "a bad port" http.pcap --port 70000
refused 4 'no interface' "an unknown interface" -i nosuch0
refused 2 'does not compile' "a bad filter" -i lo -f 'tcp porrt 1'
refused 4 'nokey' "a key that is not there" http.pcap --key nokey

# --force overwrites neither the input nor, when nothing comes, a device or pipe.
cp tls.pcap same.pcap
"$REPROD" capture same.pcap --force -o ./same.pcap >out 2>err
is $? 2 "the input as output: exit 2"
cmp -s tls.pcap same.pcap
ok $? "and the input is as it was"
# A capture, its key or its rules are no place for an answer either, and a device is not replaced.
perl -e 'print "127.0.0.1 - - [01/Jan/2024:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n" x 9' >web.log
head -c 32 /dev/urandom >key && chmod 600 key
echo '{"format":"reprod-policy","version":1}' >policy.json
echo 'not there' >canary
"$REPROD" capture web.log --key key -o web.rcap >out 2>err || diag <err
cp web.rcap kept.rcap
kept() { # WHAT KEPT-COPY FILE ARGUMENT...
	local what=$1 copy=$2 file=$3
	shift 3
	"$REPROD" capture "$@" --force -o "$file" >out 2>err
	is $? 2 "$what as output: exit 2"
	cmp -s "$copy" "$file"
	ok $? "$what is as it was" || cp "$copy" "$file"
}
for sub in show cat shape "export --to csv" "verify --canary canary" "merge kept.rcap"; do
	kept "what '$sub' reads" kept.rcap web.rcap $sub web.rcap
done
cp key key.kept
cp policy.json policy.kept
cp canary canary.kept
kept "the key" key.kept key web.log --key key
kept "the policy" policy.kept policy.json web.log --policy policy.json
kept "the canaries" canary.kept canary verify web.rcap --canary canary
ln -s /dev/null null
for sub in show "export --to csv" "merge kept.rcap"; do
	"$REPROD" capture $sub web.rcap --force -o null >out 2>err
	[ -c null ]
	ok $? "a device stays one after '$sub'"
done
refused 2 'cannot be negative' "a negative number of lines" cat web.rcap -n -5
refused 2 'live captures' "a probe of a file" web.log --probe
refused 2 'at most an hour' "a probe's window of a million hours" -i lo --probe --probe-window 1000000h

mkfifo pipe
sleep 20 <>pipe &
reader=$!
"$REPROD" capture tls.pcap --force -o pipe >out 2>err
[ -p pipe ]
ok $? "a pipe given as output is still there"
kill $reader

# A Postgres startup that asks for TLS and gets it: counted and named.
make_pcap direct.pcap 5432 160301020001000001fc0303
"$REPROD" capture direct.pcap -o enc.rcap >out 2>err
is $? 3 "nothing but encrypted sessions: exit 3"
like "$(cat err)" 'encrypted.*sslmode' "with advice"

setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all true 2>/dev/null &&
	drop=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
if [ "$(id -u)" = 0 ] && [ -n "${drop[*]-}" ]; then
	"${drop[@]}" "$REPROD" capture -i lo --for 1s -o /nonexistent/x.rcap >out 2>err
	is $? 4 "without permission: exit 4"
else
	# Capabilities of the namespace do not survive exec once they are not ambient.
	setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$REPROD" capture -i lo --for 1s \
		-o /nonexistent/x.rcap >out 2>err
	is $? 4 "without permission: exit 4"
fi
like "$(cat err)" 'setcap cap_net_raw,cap_net_admin=eip' "and the exact command that gives it"

"$REPROD" capture -i lo -f 'tcp port 9' --for 300ms -o quiet.rcap >out 2>err
is $? 4 "a live capture in which nothing arrived: exit 4"
like "$(cat err)" 'no packets' "says so"
done_testing
