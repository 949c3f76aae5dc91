#!/bin/bash
# Tags and commits of a real repository are weak events, and nothing of it is run.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
cd "$dir" || exit 1
export HOME=$dir GIT_CONFIG_NOSYSTEM=1

commit() { # SECONDS [DIR]
	GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x GIT_AUTHOR_DATE="@1 +0000" \
		GIT_COMMITTER_DATE="@$1 +0000" git -C "${2:-shop}" commit -q --allow-empty -m 'password hunter2'
}
field() { # EXPRESSION of $d and the condition $c by ID
	perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); my ($c) = grep { $_->{id} eq ($ARGV[1] // "") } @{$d->{conditions}};
		my $v = eval $ARGV[0]; die $@ if $@; print $v // "none";' "$@"
}
perl -e 'print "t,route,ms\n"; printf "%.2f,GET /a,%.2f\n", 1796040000 + $_ * 3, 1 + $_ % 7 / 10 for 0 .. 1199' >in.csv

git init -q -b main shop
commit 1795000000
commit 1796040600
commit 1796040660
commit 1796042000
git -C shop tag v1.2 HEAD~1
git -C shop tag old HEAD~3
git -C shop tag $'v\xc2\x9b31m' HEAD 2>/dev/null
"$REPROD" correlate in.csv --git shop --json >a.json
is "$(field '$c->{occurrences}{confirmed}' commit:shop <a.json)" 3 "commits within ten minutes are one push"
is "$(field '$c->{occurrences}{times}[0]{start}' deploy:v1.2 <a.json)" 2026-11-30T12:11:00Z "a tag is a deploy"
is "$(field 'scalar grep { $_->{id} =~ /old/ } @{$d->{conditions}}' <a.json)" 1 "tags near the traffic are told"
unlike "$(cat a.json)" hunter2 "no message is kept"
"$REPROD" correlate in.csv --git shop >text
unlike "$(cat -v text)" 'M-\^\[' "no control character of a tag reaches the terminal"

# What a repository says to run is not run.
printf '#!/bin/sh\ntouch %s/ran\n' "$dir" >evil && chmod +x evil
for key in core.pager core.fsmonitor core.sshCommand core.editor gpg.program diff.external pager.log pager.rev-list alias.rev-list; do
	git -C shop config "$key" "$dir/evil"
done
git -C shop config log.showSignature true
git -C shop config core.hooksPath "$dir"
git -C shop config include.path /nonexistent
GIT_EXTERNAL_DIFF=$dir/evil GIT_PAGER=$dir/evil PAGER=$dir/evil GIT_DIR=/nonexistent GIT_TRACE=$dir/trace \
	"$REPROD" correlate in.csv --git shop --json >b.json
cmp -s a.json b.json
ok $? "configuration and environment change nothing"
ok "$([ -e ran ] || [ -e trace ]; echo $((!$?)))" "and start nothing"

git clone -q --bare shop bare.git
is "$("$REPROD" correlate in.csv --git bare.git --json | field '$c->{occurrences}{confirmed}' commit:bare)" 3 "a bare repository is one"
git clone -q --depth 1 "file://$dir/shop" shallow
is "$("$REPROD" correlate in.csv --git shallow --json | field '$c->{occurrences}{confirmed}' commit:shallow)" 1 "a shallow one tells what it has"
git init -q empty
"$REPROD" correlate in.csv --git empty >text
like "$(cat text)" "no commit in 'empty'" "one without commits is said to be"
"$REPROD" correlate in.csv --git nowhere 2>err
is $? 3 "no folder is bad input"
mkdir plain
GIT_CEILING_DIRECTORIES=$dir "$REPROD" correlate in.csv --git plain 2>err
is $? 3 "a folder that is no repository too"
like "$(cat err)" "'plain' is not a git repository" "and is named"
PATH=/nonexistent "$REPROD" correlate in.csv --git shop 2>err
is $? 4 "without git it cannot"
done_testing
