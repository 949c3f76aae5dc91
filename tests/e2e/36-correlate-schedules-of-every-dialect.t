#!/bin/bash
# The job that is slow, found by its schedule alone, in each dialect; what is innocent is
# acquitted; what cannot be used is said.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
cd "$dir" || exit 1

# Three hours at four requests a second; slow for 20 s from :07, :22, :37 and :52 on.
perl -e '
	srand(3);
	print "t,route,ms\n";
	for (my $t = 0; $t < 3 * 3600; $t += 0.5 * rand()) {
		my $in = ($t + 900 - 420) % 900;
		my $ms = 2 * exp(0.5 * (rand() + rand() - 1));
		$ms *= 30 if $in < 20 && rand() < 0.6;
		printf "%.3f,GET /cart,%.3f\n", 1796040000 + $t, $ms;
	}' >slow.csv

# field FILE PERL [ID]: a value of the document in $d, of the condition in $c.
field() {
	perl -MJSON::PP -e '
		local $/;
		open my $f, "<", $ARGV[0] or die;
		my $d = decode_json(<$f>);
		my ($c) = grep { $_->{id} eq ($ARGV[2] // "") } @{$d->{conditions}};
		my $v = eval $ARGV[1];
		die $@ if $@;
		print $v;' "$@"
}

# finds WHAT FILE GUILTY INNOCENT [OPTION...]
finds() {
	local what=$1 file=$2 guilty=$3 innocent=$4
	shift 4
	"$REPROD" correlate slow.csv --schedule "$file" "$@" --json >a.json 2>err
	is "$? $(cat err)" "0 " "$what: something lines up"
	is "$(field a.json '$c->{verdict}' "$guilty")" "lines up" "$what: $guilty does"
	is "$(field a.json '$c->{occurrences}{scheduled}' "$guilty")" 12 "$what: its twelve runs are scheduled"
	like "$(field a.json '$c->{verdict}' "$innocent")" '^(no evidence|cannot tell)$' "$what: $innocent does not"
}

# 12:00 UTC is 07:00 in New York.
cat >crontab <<-'END'
	# m h dom mon dow user command
	7-59/15 7-9 * * * root PGPASSWORD=hunter2 /opt/refresh.sh --token hunter2
	*/20 * * * * root /opt/tidy
	@reboot root /opt/boot
END
finds cron crontab job:refresh.sh job:tidy --zone America/New_York
unlike "$(cat a.json)" hunter2 "no part of a command but its name is kept"
like "$(cat a.json)" '@reboot' "what has no times is said"

cat >timers.txt <<-'END'
	# /etc/systemd/system/refresh.timer
	[Timer]
	OnCalendar=Mon *-11-* 7..9:7/15
	AccuracySec=1s

	# /etc/systemd/system/tidy.timer
	[Timer]
	OnCalendar=*:0/20
	AccuracySec=1s
	Unit=tidy-up.service
END
finds systemd timers.txt job:refresh job:tidy-up --zone America/New_York

cat >jobs.yaml <<-'END'
	apiVersion: batch/v1
	kind: CronJob
	metadata: {name: refresh, namespace: shop}
	spec:
	  schedule: 7/15 7-9 * * MON
	  timeZone: America/New_York
	  concurrencyPolicy: Forbid
	  jobTemplate: {spec: {template: {spec: {containers: [{env: [{name: PASSWORD, value: hunter2}]}]}}}}
	---
	apiVersion: batch/v1
	kind: CronJob
	metadata: {name: tidy, namespace: shop}
	spec: {schedule: "*/20 * * * *", timeZone: Etc/UTC}
END
finds Kubernetes jobs.yaml job:shop/refresh job:shop/tidy
unlike "$(cat a.json)" hunter2 "nothing else of a manifest is kept"

cat >job.csv <<-'END'
	jobid,schedule,command,jobname,active
	1,"7,22,37,52 12-14 * * *","CALL refresh('hunter2');
	SELECT 1",refresh,t
	2,*/20 * * * *,VACUUM,tidy,t
	3,30 seconds,SELECT 1,,t
END
finds pg_cron job.csv job:refresh job:tidy
unlike "$(cat a.json)" hunter2 "nor of a command of pg_cron's"
like "$(cat a.json)" 'interval' "an interval without a phase is said"

printf '%s\n' 'refresh = 0 7/15 12-14 ? * MON' 'tidy = 0 0/20 * * * ?' 'wrong = 0 0 12 * * *' >quartz.properties
finds Quartz quartz.properties job:refresh job:tidy
like "$(cat a.json)" 'quartz.properties: line 3' "a wrong expression is told with its line"

"$REPROD" correlate slow.csv --schedule crontab --json >a.json
like "$(cat a.json)" 'read in UTC; --zone' "without a zone UTC is assumed and said"
like "$(field a.json '$c->{verdict}' job:refresh.sh)" '^(no evidence|cannot tell)$' "and the job is missed then"
"$REPROD" correlate slow.csv --schedule quartz:crontab >/dev/null 2>err
is $? 3 "a file read in the wrong dialect is bad input"
like "$(cat err)" 'crontab: line 2' "told with its line"
"$REPROD" correlate slow.csv --schedule nowhere >/dev/null 2>err
is $? 3 "a file that is not there is bad input"
"$REPROD" correlate slow.csv --schedule crontab --zone Mars/Base >/dev/null 2>err
is $? 2 "an unknown zone is a usage error"

# A crontab taken for something else: none of a command's words is told.
printf '%s\n' '5 * * * * /opt/x --password=hunter2 --token hunter2' >secret
for dialect in quartz systemd pg_cron kubernetes cron; do
	"$REPROD" correlate slow.csv --schedule $dialect:secret >out 2>&1
	unlike "$(cat out)" hunter2 "$dialect: a crontab read as that tells no secret"
done
printf '[Timer]\nOnCalendar=*-*-* *:*:0/0.000001\nUnit=x.service\n' >often.timer
timeout 20 "$REPROD" correlate slow.csv --schedule often.timer >out 2>&1
[ $? -ne 124 ]
ok $? "a timer of each microsecond ends"

done_testing
