# prometheus.sh - a private Prometheus for a test; source it after tap.sh.
#
#   prometheus_start                 sets prometheus_url
#   prometheus_write <samples        lines of tests/lib/prometheus-write
#
# Samples are written by remote write with the times they say: nothing is scraped, and
# nothing waits for a scrape.

prometheus_lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

prometheus_is_ready() {
	! kill -0 "$prometheus_pid" 2>/dev/null || curl -fsS "$prometheus_url/-/ready" >/dev/null 2>&1
}

prometheus_start() {
	local dir try
	dir=$(tap_dir)
	: >"$dir/none.yml"
	# A taken port makes it end, and the next is tried.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		prometheus_url=http://127.0.0.1:$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
		setpriv --pdeathsig KILL -- prometheus --config.file="$dir/none.yml" --storage.tsdb.path="$dir/data" \
			--web.listen-address="${prometheus_url#http://}" --web.enable-remote-write-receiver \
			--enable-feature=native-histograms >"$dir/log" 2>&1 </dev/null &
		prometheus_pid=$!
		at_exit "kill -KILL $prometheus_pid 2>/dev/null"
		disown
		wait_until 20 prometheus_is_ready && kill -0 "$prometheus_pid" 2>/dev/null && return 0
	done
	diag <"$dir/log"
	bail "Prometheus did not start"
}

prometheus_write() {
	perl "$prometheus_lib/prometheus-write" "$prometheus_url"
}
