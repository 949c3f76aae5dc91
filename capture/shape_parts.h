/*
 * shape_parts.h - what shape.c measures and shape_json.c writes down.
 */
#ifndef REPROD_SHAPE_PARTS_H
#define REPROD_SHAPE_PARTS_H

#include "capture/burst.h"
#include "capture/flight.h"
#include "capture/sessionbook.h"
#include "capture/shape.h"

enum {
	/* In flight at arrival: 1, 2, 3-4, 5-8, ... , over 1024 */
	SHAPE_FLIGHTS = 12,
	SHAPE_CODES = 512, /* kinds of errors told apart */
	SHAPE_FORMS = FORM_HTTP + 1,
};

/* Distributions that the busiest routes have, and all together. */
struct shape_detail {
	struct hist latency_us[SHAPE_FLIGHTS]; /* by requests in flight at arrival */
	struct hist latency_unknown_us; /* of those where this is unknown */
	struct hist in_flight; /* at arrival */
	struct hist bytes_in, bytes_out, rows;
	struct burst burst;
};

struct shape_route {
	uint64_t requests, errors, writes;
	uint64_t bytes_in, bytes_out, rows;
	double busy_ns;
	bool is_wanted, is_rollback;
	struct shape_detail *detail; /* or NULL */
};

/* "40001", "404", "grpc 14": how often. */
struct shape_code {
	char text[12];
	enum protocol protocol;
	uint64_t requests;
};

struct shape {
	struct rcap *rcap;
	int64_t from_ns, to_ns;
	int64_t first_ns, last_ns; /* of the traffic seen */
	bool has_window;
	const char *route;
	uint64_t requests, errors, writes, unanswered, cancelled, skipped, shed;
	uint64_t forms[SHAPE_FORMS];
	double busy_ns;
	struct shape_route *routes;
	size_t route_count;
	struct shape_detail all;
	struct shape_code codes[SHAPE_CODES];
	size_t code_count;
	uint64_t codes_left_out;
	struct sessionbook sessions;
	struct flight flight;
};

/* The bucket of a number in flight, and its range. */
unsigned shape_flight_bucket(uint32_t in_flight);
void shape_flight_range(unsigned bucket, uint32_t *ret_from, uint32_t *ret_to);
struct json *shape_json(const struct shape *s);

#endif
