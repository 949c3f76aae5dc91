# pg.sh - private Postgres servers for a test; source it after tap.sh.
#
#   pg_start prod 'work_mem=1MB'     a server named prod (configuration lines follow)
#   pg_psql prod 'select 1'          runs SQL in its database postgres; rows unaligned
#   "$REPROD" snapshot describe "$(pg_dsn prod)"
#   pg_stop prod                     (every server stops when the test ends anyway)
#   pg_start_tcp prod                also listens on a free port of 127.0.0.1: pg_port prod
#
# A server is a copy of a template data directory that is made once per build tree.
# Root may not run Postgres: then it runs as user postgres, else nobody. Superuser
# and database are both called postgres; trust authentication, fsync off.

PG_BIN=${PG_BIN:-/usr/lib/postgresql/15/bin}
[ -x "$PG_BIN/postgres" ] || bail "no Postgres server in $PG_BIN"
pg_root=${TEST_OUT:-$TEST_TMPDIR}
declare -A pg_dirs=() pg_ports=() pg_pids=()

if [ "$(id -u)" = 0 ]; then
	pg_user=postgres
	id postgres >/dev/null 2>&1 || pg_user=nobody
	pg_prefix=(setpriv --reuid "$pg_user" --regid "$(id -g "$pg_user")" --clear-groups)
	pg_own() { chown -R "$pg_user:$(id -gn "$pg_user")" "$@"; }
else
	pg_user=$(id -un)
	pg_prefix=(setpriv)
	pg_own() { :; }
fi
# pdeathsig: a test that is killed takes its servers along.
pg_prefix+=(--pdeathsig QUIT --)
pg_as() { "${pg_prefix[@]}" "$@"; }

# Made in TEST_TMPDIR, where the server's user can reach it, and kept in the build
# tree; a second test that comes meanwhile waits for the lock.
pg_template() {
	local kept=$pg_root/pg-template-$("$PG_BIN/postgres" --version | tr -dc 0-9.) new
	(
		flock 9
		[ -d "$kept" ] && exit 0
		new=$(mktemp -d "$TEST_TMPDIR/tXXXXX") && pg_own "$new" || exit 1
		pg_as "$PG_BIN/initdb" -D "$new/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 \
			--no-sync $("$PG_BIN/initdb" --help | grep -o -e --no-instructions) >"$TEST_TMPDIR/initdb.log" 2>&1 || exit 1
		cp -a "$new/data" "$kept.new" && mv "$kept.new" "$kept" && rm -rf "$new"
	) 9>"$pg_root/pg-template.lock" >/dev/null || {
		diag <"$TEST_TMPDIR/initdb.log"
		return 1
	}
	echo "$kept"
}

pg_write_conf() { # DIR [LINE...]
	local dir=$1
	shift
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$dir'"
		echo "fsync = off"
		echo "full_page_writes = off"
		echo "shared_buffers = 32MB"
		echo "max_connections = 60"
		echo "log_line_prefix = '%m [%p] '"
		echo "log_timezone = 'UTC'"
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >>"$dir/data/postgresql.conf"
}

pg_is_up() { # NAME
	# The readiness line of the pid file is the server's own word.
	[ "$(sed -n 8p "${pg_dirs[$1]}/data/postmaster.pid" 2>/dev/null | tr -d ' ')" = ready ] ||
		! kill -0 "${pg_pids[$1]}" 2>/dev/null
}

pg_run() { # NAME: start what lies in its folder
	local dir=${pg_dirs[$1]}
	# setsid: a terminal's ^C reaches the test first, which then stops the server.
	# Not by pg_as: then $! would be a shell around the server.
	"${pg_prefix[@]}" setsid "$PG_BIN/postgres" -D "$dir/data" -p "${pg_ports[$1]}" \
		>>"$dir/log" 2>&1 </dev/null &
	pg_pids[$1]=$!
	wait_until 20 pg_is_up "$1" && kill -0 "${pg_pids[$1]}" 2>/dev/null && return 0
	diag "server '$1' did not start"
	diag <"$dir/log"
	return 1
}

pg_start() { # NAME [CONF-LINE...]
	local name=$1 template dir
	shift
	template=$(pg_template) || bail "could not make a template data directory"
	dir=$(mktemp -d "$TEST_TMPDIR/$name.XXXX")
	cp -a --reflink=auto "$template" "$dir/data"
	pg_write_conf "$dir" "$@"
	: >"$dir/log"
	pg_own "$dir"
	# 755: clients of another user must reach the socket.
	chmod 755 "$dir"
	pg_dirs[$name]=$dir
	# Without TCP the number only names the socket, and each has its own folder.
	pg_ports[$name]=5432
	pg_run "$name" || bail "could not start the server '$name'"
}

# A free port is never assumed: a taken one makes the server end, and the next is tried.
pg_start_tcp() { # NAME [CONF-LINE...]
	local name=$1 try
	pg_start "$@"
	pg_halt "$name"
	echo "listen_addresses = '127.0.0.1'" >>"${pg_dirs[$name]}/data/postgresql.conf"
	for try in 1 2 3 4 5 6 7 8 9 10; do
		pg_ports[$name]=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
		pg_run "$name" >"$TEST_TMPDIR/$name.tries" && return 0
	done
	diag <"$TEST_TMPDIR/$name.tries"
	bail "could not start the server '$name' on any of 10 ports"
}

pg_dir() { echo "${pg_dirs[$1]}/data"; }
pg_log() { echo "${pg_dirs[$1]}/log"; }
pg_port() { echo "${pg_ports[$1]}"; }

pg_dsn() { # NAME [DATABASE]
	echo "host=${pg_dirs[$1]} port=${pg_ports[$1]} user=postgres dbname=${2:-postgres}"
}

pg_psql() { # NAME SQL [DATABASE]
	"$PG_BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "$(pg_dsn "$1" "${3:-postgres}")" -c "$2"
}

pg_halt() { # NAME: stop, keep the folder
	local pid=${pg_pids[$1]:-}
	[ -n "$pid" ] || return 0
	# INT is a fast shutdown; QUIT an immediate one.
	kill -INT "$pid" 2>/dev/null
	if ! wait_until 10 pg_is_gone "$pid"; then
		kill -QUIT "$pid" 2>/dev/null
		wait_until 5 pg_is_gone "$pid" || kill -KILL "$pid" 2>/dev/null
	fi
	wait "$pid" 2>/dev/null
	unset "pg_pids[$1]"
}

pg_is_gone() { ! kill -0 "$1" 2>/dev/null; }

pg_stop() { # NAME
	pg_halt "$1"
	[ -z "${pg_dirs[$1]:-}" ] || rm -rf "${pg_dirs[$1]}"
	unset "pg_dirs[$1]" "pg_ports[$1]"
}

pg_stop_all() {
	local name
	for name in "${!pg_dirs[@]}"; do
		[ "$tap_failed" -eq 0 ] || { diag "log of server '$name':"; tail -n 40 "${pg_dirs[$name]}/log" | diag; }
		pg_stop "$name"
	done
}
at_exit pg_stop_all
