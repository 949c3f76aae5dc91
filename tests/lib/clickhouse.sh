# clickhouse.sh - a private ClickHouse for a test; source it after tap.sh.
#
#   clickhouse_start                 sets clickhouse_at (host:port); users default (no
#                                    password) and reader (s3cret, read only)
#   clickhouse "SELECT 1" [<DATA]    runs it; DATA is what an INSERT takes

clickhouse_is_up() {
	! kill -0 "$clickhouse_pid" 2>/dev/null || curl -fsS "http://$clickhouse_at/ping" >/dev/null 2>&1
}

clickhouse_start() {
	local dir try
	dir=$(tap_dir)
	mkdir "$dir/data" "$dir/tmp"
	cat >"$dir/users.xml" <<-'XML'
		<yandex>
		<profiles><default></default><read><readonly>1</readonly></read></profiles>
		<quotas><default></default></quotas>
		<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		<reader><password>s3cret</password><networks><ip>127.0.0.1</ip></networks><profile>read</profile><quota>default</quota></reader>
		</users>
		</yandex>
	XML
	# A taken port makes it end, and the next is tried.
	for try in 1 2 3 4 5 6 7 8 9 10; do
		clickhouse_at=127.0.0.1:$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
		cat >"$dir/config.xml" <<-XML
			<yandex>
			<logger><level>error</level><console>1</console></logger>
			<http_port>${clickhouse_at#*:}</http_port>
			<listen_host>127.0.0.1</listen_host>
			<path>$dir/data/</path>
			<tmp_path>$dir/tmp/</tmp_path>
			<users_config>users.xml</users_config>
			<mark_cache_size>10000000</mark_cache_size>
			<default_profile>default</default_profile>
			<default_database>default</default_database>
			</yandex>
		XML
		setpriv --pdeathsig KILL -- clickhouse-server --config-file="$dir/config.xml" >"$dir/log" 2>&1 </dev/null &
		clickhouse_pid=$!
		at_exit "kill -KILL $clickhouse_pid 2>/dev/null"
		disown
		wait_until 20 clickhouse_is_up && kill -0 "$clickhouse_pid" 2>/dev/null && return 0
	done
	diag <"$dir/log"
	bail "ClickHouse did not start"
}

clickhouse() { # SQL
	curl -fsS "http://$clickhouse_at/?query=$(perl -e '$_ = shift; s/([^A-Za-z0-9])/sprintf "%%%02X", ord $1/ge; print' "$1")" --data-binary @-
}
