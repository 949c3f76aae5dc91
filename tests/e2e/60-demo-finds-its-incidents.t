#!/bin/bash
# The shipped incidents are found from the source tree and beside an installed program.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
tree=$(cd "$(dirname "$0")/../.." && pwd)
both=$'lock-job\nstale-statistics'

is "$(REPROD_SHARE=$tree "$REPROD" demo --list)" "$both" "in the source tree"
mkdir -p "$dir/bin" "$dir/share/reprod/demo"
cp "$REPROD" "$dir/bin/reprod"
cp -R "$tree/demo/incidents" "$dir/share/reprod/demo/"
is "$(env -u REPROD_SHARE "$dir/bin/reprod" demo --list)" "$both" "beside an installed program"
done_testing
