#!/bin/bash
# A capture opens its sockets as root and is then the user who called sudo: the file is
# his, the key stays in memory that is never swapped, no core is left, and who captured
# what is in the system log and in the file.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

[ "$(id -u)" = 0 ] || skip_all "only root can become somebody else"
dir=$(tap_dir)
chmod 777 "$dir"
cd "$dir" || exit 1
head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n' >key
chmod 600 key
chown 4321:4321 key

# A system log of our own, in a mount namespace: /dev/log is one name in a folder.
cat >logger.pl <<-'END'
	use strict; use Socket;
	socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, sockaddr_un("log.socket")) or die "$!";
	chmod 0666, "log.socket"; open(my $to, ">", "syslog") or die; $to->autoflush(1);
	while (defined recv($s, my $m, 65536, 0)) { print $to "$m\n" }
END
perl -MIO::Handle logger.pl 2>logger.err &
at_exit "kill $! 2>/dev/null"
wait_until 5 test -S log.socket || diag <logger.err
SUDO_UID=4321 SUDO_GID=4322 unshare --mount sh -c '
	cp -a /dev/null dev.null && mount -t tmpfs none /dev && cp -a dev.null /dev/null &&
	mknod -m 666 /dev/urandom c 1 9 && ln -s "$PWD/log.socket" /dev/log &&
	exec "$REPROD" capture -i lo --port 9 -f "tcp port 9" --key key -o own.rcap --for 60s' >own.out 2>own.err &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
wait_until 10 test -s own.rcap || diag <own.err
capture=$(pgrep -P $$ -f 'capture -i lo' | head -1)
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$capture/status"; }
is "$(stat -c %u:%g:%a own.rcap)" 4321:4322:600 "the file is the caller's, and his alone"
is "$(status Uid)" "$(printf '4321\t4321\t4321\t4321')" "the process is the caller, for good"
is "$(status Gid)" "$(printf '4322\t4322\t4322\t4322')" "with his group"
is "$(status Groups | tr -d ' ')" "" "and no other"
is "$(status CapEff)" 0000000000000000 "it has no capability left"
is "$(status NoNewPrivs)" 1 "and gains none"
[ "$(status VmLck | tr -dc 0-9)" -ge "$(is_sanitized && echo 0 || echo 4)" ]
ok $? "the key is in locked memory" || diag "$(status VmLck)"
is "$(sed -n 's/^Max core file size *\([0-9]*\) *\([0-9]*\).*/\1 \2/p' "/proc/$capture/limits")" "0 0" "it leaves no core"
kill -TERM "$capture"
wait "$pid"
is $? 130 "it is asked to end" || diag <own.err
like "$(cat syslog)" "reprod\[[0-9]+\]: capture on lo, filter 'tcp port 9', uid 4321, to own.rcap, policy [0-9a-f]{12}" "the system log has who, where, what and how"
"$REPROD" capture show --json own.rcap >own.json
like "$(cat own.json)" '"audit": \{[^}]*"uid": 4321[^}]*"filter": "tcp port 9"[^}]*"policy_digest": "[0-9a-f]{64}"' "and so has the file"
like "$(cat own.json)" '"when": "20[0-9-]+T[0-9:.]+Z"' "with the time"

# Root's own capture goes on as nobody.
"$REPROD" capture -i lo --port 9 -o root.rcap --for 60s >root.out 2>root.err &
capture=$!
at_exit "kill -KILL $capture 2>/dev/null"
wait_until 10 test -s root.rcap || diag <root.err
is "$(status Uid)" "$(printf '65534\t65534\t65534\t65534')" "root's is nobody's"
kill -TERM "$capture"
wait "$capture"
done_testing
