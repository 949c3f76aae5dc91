#!/bin/bash
# The harness itself can fail: every way in which a suite may lie is a failure.
. "$(dirname "$0")/../lib/tap.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(tap_dir)
unset HARNESS_VERBOSE HARNESS_ACTIVE

write() { # NAME BODY
	printf '#!/bin/bash\n%s\n' "$2" >"$dir/$1"
	chmod +x "$dir/$1"
}
run() { # CI WANTED-CODE WANTED-LAST-LINE NAME FILE...
	local ci=$1 code=$2 last=$3 name=$4 out
	shift 4
	out=$(CI=$ci "$root/tools/run-tests" "$@" 2>&1)
	is "$?: $(printf '%s\n' "$out" | tail -n 1)" "$code: $last" "$name" || diag "$out"
}
write good 'echo "ok 1"; echo "ok 2"; echo 1..2'
write bad 'echo "ok 1"; echo "not ok 2"; echo 1..2'
write short 'echo 1..3; echo "ok 1"'
write dies 'echo "ok 1"; echo 1..1; exit 9'
write skips 'echo "ok 1"; echo "ok 2 # SKIP no such thing here"; echo 1..2'
write skips-all 'echo "1..0 # SKIP nothing here"'
mkdir "$dir/e2e"
cp "$dir/good" "$dir/e2e/good.t"
cp "$dir/skips" "$dir/e2e/skips.t"

run '' 0 '2 passed, 0 failed' "good tests pass" "$dir/good"
run '' 0 '4 passed, 0 failed' "two rounds are summed" "$dir/good" "$dir/e2e/good.t"
run '' 1 '3 passed, 1 failed' "a failed test fails" "$dir/good" "$dir/bad"
run '' 1 '3 passed, 1 failed' "fewer tests than planned fail" "$dir/good" "$dir/short"
run '' 1 '3 passed, 1 failed' "an exit code fails" "$dir/good" "$dir/dies"
run '' 1 '0 passed, 1 failed' "a test that is not there fails" "$dir/absent"
run '' 0 '2 passed, 0 failed' "a skip passes by hand" "$dir/skips"
run true 1 '4 passed, 2 failed' "and fails in CI" "$dir/skips" "$dir/e2e/skips.t"
run true 1 '2 passed, 1 failed' "a file that is skipped as a whole fails in CI" "$dir/good" "$dir/skips-all"
run '' 1 '0 passed, 1 failed' "nothing tested is a failure" "$dir/skips-all"

# The golden runner: a copy of it with one case.
mkdir -p "$dir/t/golden/version/text" "$dir/t/lib"
cp "$root/tests/golden/run.t" "$dir/t/golden/"
cp "$root/tests/lib/tap.sh" "$dir/t/lib/"
cp "$root/tests/golden/version/text/"* "$dir/t/golden/version/text/"
run '' 0 '1 passed, 0 failed' "a golden case passes" "$dir/t/golden/run.t"
echo 'something else' >"$dir/t/golden/version/text/out"
run '' 1 '0 passed, 1 failed' "other output fails" "$dir/t/golden/run.t"
cp "$root/tests/golden/version/text/out" "$dir/t/golden/version/text/out"
echo 3 >"$dir/t/golden/version/text/code"
run '' 1 '0 passed, 1 failed' "another exit code fails" "$dir/t/golden/run.t"
UPDATE=1 run '' 0 '1 passed, 0 failed' "UPDATE=1 rewrites" "$dir/t/golden/run.t"
[ ! -e "$dir/t/golden/version/text/code" ]
ok $? "and drops the code file of a success"
done_testing
