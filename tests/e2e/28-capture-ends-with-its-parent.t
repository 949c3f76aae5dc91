#!/bin/bash
# A live capture started by another program (the demo does) must not outlive it, though
# giving up root clears the signal that was asked for.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sniff.sh"

dir=$(tap_dir)
cat >"$dir/parent" <<'EOF2'
setpriv --pdeathsig KILL -- "$REPROD" capture -i lo -f 'tcp port 9' --for 30s -o "$1" >/dev/null 2>&1 &
echo $! >"$1.pid"
wait
EOF2
bash "$dir/parent" "$dir/c.rcap" &
parent=$!
wait_until 10 test -s "$dir/c.rcap"
ok $? "the capture runs"
pid=$(cat "$dir/c.rcap.pid")
at_exit "kill -KILL $pid 2>/dev/null"
kill -KILL "$parent"
is_gone() { ! kill -0 "$pid" 2>/dev/null; }
wait_until 5 is_gone
ok $? "and ends when its parent is killed"
"$REPROD" capture show "$dir/c.rcap" >/dev/null 2>&1
ok $? "its file is readable"
done_testing
