#include "capture/selftest_traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"

enum { ROW_BYTES = 8192, ANSWER_MAX = ROW_BYTES + 64, QUERY_MAX = 64 };

static void put_u32(unsigned char *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(v >> (24 - 8 * i));
}

static size_t put_message(unsigned char *to, char type, const void *body, size_t n)
{
	to[0] = (unsigned char)type;
	put_u32(to + 1, (uint32_t)n + 4);
	if (n)
		memcpy(to + 5, body, n);
	return n + 5;
}

static bool send_all(int fd, const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = send(fd, (const char *)bytes + done, n - done, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		done += (size_t)k;
	}
	return true;
}

static bool receive_all(int fd, void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = recv(fd, (char *)bytes + done, n - done, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		done += (size_t)k;
	}
	return true;
}

/* ---- the server */

static size_t make_answer(unsigned char *to)
{
	unsigned char row[ROW_BYTES + 6] = { 0 };
	size_t n;

	row[1] = 1; /* one column */
	put_u32(row + 2, ROW_BYTES);
	memset(row + 6, 'x', ROW_BYTES);
	n = put_message(to, 'D', row, sizeof row);
	n += put_message(to + n, 'C', "SELECT 1", 9);
	return n + put_message(to + n, 'Z', "I", 1);
}

static void serve(int listening)
{
	unsigned char answer[ANSWER_MAX], query[QUERY_MAX], head[5];
	size_t n = make_answer(answer);
	int fd = accept(listening, NULL, NULL), one = 1;
	unsigned char greeting[32];
	size_t greeting_n = put_message(greeting, 'R', "\0\0\0\0", 4);

	greeting_n += put_message(greeting + greeting_n, 'Z', "I", 1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (!receive_all(fd, query, 8) || query[3] < 8 || query[3] > sizeof query ||
		!receive_all(fd, query + 8, query[3] - 8U) || !send_all(fd, greeting, greeting_n))
		return;
	while (receive_all(fd, head, 5) && head[4] >= 4 && head[4] - 4U <= sizeof query &&
		receive_all(fd, query, head[4] - 4U) && send_all(fd, answer, n))
		;
}

static bool listen_somewhere(struct traffic *t, int *ret_fd, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof at;

	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret_fd < 0 || bind(*ret_fd, (struct sockaddr *)&at, n) != 0 ||
		listen(*ret_fd, 1) != 0 || getsockname(*ret_fd, (struct sockaddr *)&at, &n) != 0)
		return err_os(e, ERR_ENV, errno, "could not listen on loopback");
	t->port = ntohs(at.sin_port);
	return true;
}

/* ---- the client */

static bool greet(struct traffic *t, struct err *e)
{
	static const unsigned char startup[] =
		"\0\0\0\x25\0\x03\0\0user\0selftest\0database\0self\0";
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) },
		.sin_port = htons(t->port) };
	unsigned char answer[15];
	int one = 1;

	t->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->client < 0 || connect(t->client, (struct sockaddr *)&at, sizeof at) != 0)
		return err_os(e, ERR_ENV, errno, "could not connect over loopback");
	setsockopt(t->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return (send_all(t->client, startup, sizeof startup) &&
		       receive_all(t->client, answer, sizeof answer)) ||
	       err_set(e, ERR_ENV, "the test's own server does not answer");
}

bool traffic_open(struct traffic *t, struct err *e)
{
	int listening;

	*t = (struct traffic){ .client = -1 };
	if (!listen_somewhere(t, &listening, e))
		return false;
	t->server = fork();
	if (t->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listening);
		_exit(0);
	}
	close(listening);
	return t->server > 0 || err_os(e, ERR_ENV, errno, "could not fork");
}

bool traffic_run(struct traffic *t, int64_t for_ns, struct traffic_window *w, struct err *e)
{
	unsigned char query[QUERY_MAX], answer[ANSWER_MAX], expected[ANSWER_MAX];
	size_t answer_n = make_answer(expected), n = put_message(query, 'Q', "select 1", 9);
	int64_t start_ns, before_ns, now_ns;

	*w = (struct traffic_window){ 0 };
	if (t->client < 0 && !greet(t, e))
		return false;
	start_ns = before_ns = now_ns = clock_real_mono_ns();
	while (now_ns - start_ns < for_ns) {
		if (!send_all(t->client, query, n) || !receive_all(t->client, answer, answer_n))
			return err_set(e, ERR_ENV, "the test's own traffic broke off");
		now_ns = clock_real_mono_ns();
		if (!hist_add(&w->latency_us, (now_ns - before_ns) / NS_PER_US, 1))
			return err_set(e, ERR_ENV, "out of memory");
		before_ns = now_ns;
		w->requests++;
	}
	w->span_ns = now_ns - start_ns;
	return true;
}

void traffic_close(struct traffic *t)
{
	if (t->client >= 0)
		close(t->client);
	if (t->server > 0) {
		kill(t->server, SIGKILL);
		waitpid(t->server, NULL, 0);
	}
}
