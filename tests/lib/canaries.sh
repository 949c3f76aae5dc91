# canaries.sh - reads an input in every way and looks for canaries in all that comes out.
#
#   canaries_try LABEL CANARIES INPUT [OPTION...]   one capture under these options
#   canaries_sound CANARIES INPUT                   the search finds them in the input
canaries_lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

canaries_sound() {
	"$canaries_lib/find-canaries" "$1" "$2" >sound.out
	is $? 1 "the search finds the canaries of $2" || return
	[ "$(sed 's/.*: line \([0-9]*\) .*/\1/' sound.out | sort -u | wc -l)" -ge $(($(wc -l <"$1") * ${3:-9} / 10)) ]
	ok $? "nearly all of them" || diag "$(wc -l <sound.out) forms of $(wc -l <"$1") canaries"
}

canaries_export() { # LABEL: the capture in every format
	local to
	for to in csv jsonl gor pgbench k6 vegeta wsesslog; do
		"$REPROD" capture export "$1.rcap" --to "$to" -o "$1.$to" --force >"$1.$to.out" 2>"$1.$to.err"
		[ -d "$1.$to" ] && cat "$1.$to"/* >"$1.$to.all"
	done
}

canaries_try() {
	local label=$1 list=$2 input=$3 command
	shift 3
	"$REPROD" capture -v -v --json "$@" "$input" -o "$label.rcap" --force >"$label.capture.out" 2>"$label.capture.err"
	is $? 0 "$label: captured" || { diag <"$label.capture.err"; return; }
	"$REPROD" capture verify "$label.rcap" --canary "$list" >"$label.verify" 2>&1
	is $? 0 "$label: capture verify finds none" || diag <"$label.verify"
	for command in show 'show --json' 'show --policy' cat 'cat --values' shape 'shape --json' coverage; do
		"$REPROD" capture $command "$label.rcap" >"$label.${command// /}.txt" 2>&1
	done
	"$REPROD" capture merge "$label.rcap" "$label.rcap" -o "$label.merged.rcap" --force >"$label.merge.out" 2>&1
	canaries_export "$label"
	"$canaries_lib/find-canaries" "$list" $(find . -maxdepth 1 -type f -name "$label.*") >"$label-found"
	is $? 0 "$label: nor is any in what the commands print and write" || diag <"$label-found"
}
