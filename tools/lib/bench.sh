# bench.sh - what the benchmarks share; source it with the name of the benchmark as $1.
# Times are CPU seconds, user and system, of one command. Traffic is recorded here, in a
# folder that goes away; servers are private ones of tests/lib/pg.sh, and an nginx.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export REPROD=${REPROD:-$here/build/release/reprod}
[ -x "$REPROD" ] || { echo "$1: no $REPROD: 'make $1' builds it" >&2; exit 4; }
# The template of a server is kept beside the binary that is measured.
export TEST_OUT=${TEST_OUT:-$(dirname "$REPROD")}
# A folder of its own: an inherited one may be out of reach of the server's user.
unset TEST_TMPDIR
# shellcheck source=/dev/null
. "$here/tests/lib/tap.sh"
# shellcheck source=/dev/null
. "$here/tests/lib/pg.sh"
set +u
dir=$(tap_dir)
at_exit 'rm -rf "$TEST_TMPDIR"'

has() { # COMMAND...: each is there; else says which is missing
	local one
	for one in "$@"; do
		PATH=$PATH:/usr/sbin command -v "$one" >/dev/null && continue
		echo "missing: $one ($(awk -v c="$one" '$3 == c || $3 ~ "/" c "$" { print "package " $1; n++ } END { if (!n) print "in no package of tools/packages" }' "$here/tools/packages"))"
		return 1
	done
}

seconds() { # COMMAND...: CPU seconds of the child
	# shellcheck disable=SC2016
	TIMEFORMAT='%3U %3S' bash -c 'time "$@" >/dev/null 2>&1' _ "$@" 2>&1 | awk '{ printf "%.4f", $1 + $2 }'
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { print a / (b > 0.0005 ? b : 0.0005) }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.2f (n=%d, %.2f to %.2f)", v[int((NR + 1) / 2)], NR, v[1], v[NR] }'; }

# The most memory that a command took, in MiB; its output is in peak.out. Its CPU includes
# that of looking: some milliseconds a second.
peak() { # COMMAND...
	local pid kb=0 now
	"$@" >"$dir/peak.out" 2>&1 <&0 &
	pid=$!
	while now=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		kb=$now
		sleep 0.1
	done
	wait "$pid" || true
	awk -v kb="$kb" 'BEGIN { printf "%.1f", kb / 1024 }'
}

tcpdump_begin() { # FILE FILTER
	tcpdump -i lo -s0 -B 65536 -Z "$(id -un)" -w "$1" "$2" 2>"$dir/tcpdump.err" &
	tcpdump_pid=$!
	until grep -qs listening "$dir/tcpdump.err"; do sleep 0.05; done
}
tcpdump_end() {
	sleep 1.5 # its blocks come once a second
	kill -TERM "$tcpdump_pid"
	wait "$tcpdump_pid" || true
}

free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

nginx_begin() { # sets nginx_port and nginx_pid
	nginx_port=$(free_port)
	mkdir -p "$dir/root/api/items" && head -c 600 /dev/zero | tr '\0' x >"$dir/root/api/items/list" && chmod -R a+rX "$dir"
	cat >"$dir/nginx.conf" <<END
daemon off; worker_processes 1; pid $dir/nginx.pid; error_log $dir/nginx.err;
events { worker_connections 512; }
http {
	access_log off; default_type text/plain; keepalive_requests 100000000;
	client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
	uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
	server { listen 127.0.0.1:$nginx_port; root $dir/root; location /item/ { return 200 "some item"; } }
}
END
	/usr/sbin/nginx -e "$dir/nginx.err" -c "$dir/nginx.conf" >"$dir/nginx.out" 2>&1 &
	nginx_pid=$!
	at_exit "kill $nginx_pid 2>/dev/null"
	wait_until 10 grep -qs . "$dir/nginx.pid" || { echo "nginx did not start" >&2; exit 4; }
}
