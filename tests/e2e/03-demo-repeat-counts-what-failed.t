#!/bin/bash
# A play that ends halfway counts against the tool, however few incidents it told of.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
here=$(cd "$(dirname "$0")/../.." && pwd)
fake() { # JSON of the incidents that a play tells of
	printf '#!/bin/sh\necho '"'"'{"incidents": [%s]}'"'"'\n' "$1" >"$dir/reprod"
	chmod +x "$dir/reprod"
}
good='{"name": "a", "verdict": "reproduced", "ok": true}'
bad='{"name": "b", "verdict": "unsure", "ok": false}'
fake "$good, $good"
out=$("$here/tools/demo-repeat" "$dir/reprod" 3)
is $? 0 "all conclusions true is 0"
like "$out" '6 of 6 with the true conclusions' "and counted"
fake "$good"
out=$("$here/tools/demo-repeat" "$dir/reprod" 3)
is $? 1 "an incident that is missing is a failure"
like "$out" '3 of 6' "and counted"
fake "$good, $bad"
"$here/tools/demo-repeat" "$dir/reprod" 1 >/dev/null
is $? 1 "so is a wrong conclusion"
fake ''
out=$("$here/tools/demo-repeat" "$dir/reprod" 1)
is $? 1 "so is none"
like "$out" '0 of 2' "and counted"
done_testing
