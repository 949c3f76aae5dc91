#!/bin/bash
# Each check is seen to fail on a fault planted for it, and to name file and reason.
. "$(dirname "$0")/../lib/tap.sh"
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
dir=$(tap_dir)
CC=${CC:-gcc}
cd "$dir" || bail "no folder"
mkdir -p core/base core/model core/format core/driver capture/wire capture/log replay demo recipes build/core/model

echo 'struct a { int x; };' >core/base/a.h
echo '#include "core/base/a.h"' >core/model/good.c
printf '#include <pcap.h>\n#include "core/model/m.h"\n' >capture/wire/source_live.c
echo '#include "replay/replay.h"' >demo/cmd_demo.c
printf '#include "core/format/f.h"\n#include "capture/wire/w.h"\n' >capture/good.c
printf '#include "demo/any.h"\n#include "core/base/a.h"\n' >main.c
out=$("$tools/check-layers")
is $? 0 "includes that point down are fine" || diag "$out"

plant() { # FILE INCLUDE REASON NAME
	echo "#include $2" >"$1"
	out=$("$tools/check-layers")
	is $? 1 "$4"
	like "$out" "^$1: .*$3" "and is named"
	rm "$1"
}
plant core/base/up.c '"core/model/m.h"' 'core/base may not look at core/model' "base looks at model"
plant core/model/up.c '"core/driver/d.h"' 'core/model may not look at core/driver' "model looks at driver"
plant core/driver/side.c '"core/format/d.h"' 'core/driver may not look at core/format' "driver looks at format"
plant core/format/up.c '"capture/c.h"' 'core/format may not look at capture' "core looks at a part"
plant capture/side.c '"replay/replay.h"' 'parts never include each other' "part looks at part"
plant capture/wire/up.c '"capture/c.h"' 'parts never include each other' "a folder of a part looks up"
plant capture/log/side.c '"capture/wire/w.h"' 'parts never include each other' "and beside"
plant demo/inside.c '"replay/schedule.h"' 'only the face' "demo looks past a face"
plant capture/near.c '"c.h"' 'starts at the root' "an include relative to its file"
plant capture/t.c '"tests/lib/unit.h"' 'a test' "the program includes a test"
plant capture/wire/flow.c '<pcap.h>' 'walled in' "pcap outside its wall"
plant core/model/x.c '<openssl/evp.h>' 'walled in' "openssl outside its wall"
plant core/base/y.c '<jansson.h>' 'walled in' "jansson outside its wall"
plant core/driver/http.c '<libpq-fe.h>' 'walled in' "libpq outside its wall"

out=$("$tools/check-headers")
is $? 1 "a header that is defined twice"
like "$out" '^core/base/a.h: does not compile alone: .*redefinition' "and is named"
printf '#pragma once\nsize_t f(void);\n' >core/base/a.h
out=$("$tools/check-headers")
like "$out" '^core/base/a.h: does not compile alone: .*size_t' "a header that needs another one before it"
printf '#pragma once\n#include <stddef.h>\nsize_t f(void);\n' >core/base/a.h
out=$("$tools/check-headers")
is $? 0 "a header that stands alone" || diag "$out"

state() { # SOURCE
	echo "$1" >core/base/s.c
	$CC -c -fno-common -o build/s.o core/base/s.c && ar rcs build/s.a build/s.o && "$tools/check-state" build/s.a
}
state 'int f(void); int f(void) { return 1; } extern const char *const t[]; const char *const t[] = { "a" };' >out
is $? 0 "constant tables are no state" || diag <out
for fault in 'int counter = 1;' 'int zero;' 'int f(void); int f(void) { static int n; return ++n; }' \
	'_Thread_local int t;' 'extern const char *names[]; const char *names[] = { "a" };'; do
	state "$fault" >out
	is $? 1 "state: $fault"
	like "$(cat out)" 's.o: ".*" in .*can change' "and is named"
done

echo 'int f(void); int f(void) { return 1; }' >core/base/one.c
cp core/base/one.c core/base/two.c
$CC -c -o build/one.o core/base/one.c && $CC -c -o build/two.o core/base/two.c
rm -f build/s.a && ar rcs build/s.a build/one.o && "$tools/check-symbols" build/s.a
is $? 0 "a name defined once"
ar rcs build/s.a build/two.o
out=$("$tools/check-symbols" build/s.a)
is $? 1 "a name defined twice"
is "$out" "two.o: defines f, which one.o defines too" "and is named"

pure() { # SOURCE
	echo "$1" >core/model/sqllex.c
	$CC -O2 -c -o build/core/model/sqllex.o core/model/sqllex.c && "$tools/check-pure" build
}
pure '#include <stdio.h>
int f(char *t); int f(char *t) { return snprintf(t, 9, "%s %d", "a", 1); }' >out
is $? 0 "snprintf is no I/O" || diag <out
pure '#include <stdio.h>
int f(void); int f(void) { return fopen("x", "r") == NULL; }' >out
is $? 1 "a parser that opens a file"
like "$(cat out)" '^core/model/sqllex.o: a parser that calls fopen' "and is named"
pure '#define _FORTIFY_SOURCE 2
#include <stdio.h>
void f(int n); void f(int n) { printf("%d\n", n); }' >out
is $? 1 "a parser that prints, under _FORTIFY_SOURCE"
like "$(cat out)" 'calls printf' "and is named"
pure '#include <time.h>
long f(void); long f(void) { return time(NULL); }' >out
is $? 1 "a parser that asks the clock"

rm -rf core capture demo main.c build out
mkdir core
printf 'int f(void);\nint f(void)\n{\n\treturn 1; // %s: later\n}\n' TO''DO >core/s.c
out=$("$tools/check-style")
is $? 1 "a note to self"
like "$out" 'core/s.c:4:.*note to self' "and is named"
printf 'int  f(void) { return 1; } \n' >core/s.c
out=$("$tools/check-style")
is $? 1 "blanks at the end of a line"
like "$out" 'core/s.c:1: *blanks at the end|core/s.c:1.*blanks at the end' "and is named"
printf 'see %s 7 in %s\n' issue DESIGN.md >README.md
rm core/s.c
out=$("$tools/check-words")
is $? 1 "a word of the workplace"
like "$out" '^README.md:1:' "and is named"
echo 'a tool' >README.md
out=$("$tools/check-words")
is $? 0 "plain words"
done_testing
