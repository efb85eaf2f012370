/* The same loops as the compiled ones, written by hand: the yardstick of `make bench`.
 *
 * Same generator, same draws, same arithmetic in the same order, except that sin, cos, pow
 * and log are the C library's. Built with -ffp-contract=off the results are Sojourn's, to
 * the last bit where none of these is used; the benchmark checks that before it times the
 * build with plain -O3 -march=native.
 *
 * At the end, the same for many runs side by side: lanes.
 */
#include <math.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

enum { SMART, RELAXED_SMART, HARMONIC };

typedef struct { double reward, clock, greedy_reward, greedy_duration, greedy_steps, rate; } totals;

/* --- random numbers: xoshiro256++, SplitMix64, AS 241 --- */

INLINE uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

INLINE uint64_t word(uint64_t *s) {
    uint64_t result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45);
    return result;
}

INLINE uint64_t word_at(int64_t key, int64_t index) {
    uint64_t z = (uint64_t)key + (uint64_t)(index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

INLINE double unit(uint64_t bits) { return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52; }

INLINE double polynomial(const double *c, double x) {
    double x2 = x * x;
    double lower = (c[0] + c[1] * x) + (c[2] + c[3] * x) * x2;
    double upper = (c[4] + c[5] * x) + (c[6] + c[7] * x) * x2;
    return lower + upper * (x2 * x2);
}

static const double A[8] = {3.387132872796366608, 133.14166789178437745, 1971.5909503065514427,
    13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105,
    2509.0809287301226727};
static const double B[8] = {1.0, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077,
    21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852545925};
static const double C[8] = {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055,
    3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833,
    7.7454501427834140764e-4};
static const double D[8] = {1.0, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
    0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
    1.05075007164441684324e-9};
static const double E[8] = {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358,
    0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386,
    2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double F[8] = {1.0, 0.59983220655588793769, 0.13692988092273580531,
    0.0148753612908506148525, 7.868691311456132591e-4, 1.8463183175100546818e-5,
    1.4215117583164458887e-7, 2.04426310338993978564e-15};

INLINE double normal_quantile(double p) {
    double c = p - 0.5;
    if (fabs(c) <= 0.425) {
        double r = 0.180625 - c * c;
        return c * (polynomial(A, r) / polynomial(B, r));
    }
    double r = sqrt(-log(c < 0.0 ? p : 1.0 - p));
    double tail = r <= 5.0 ? polynomial(C, r - 1.6) / polynomial(D, r - 1.6)
                           : polynomial(E, r - 5.0) / polynomial(F, r - 5.0);
    return c < 0.0 ? -tail : tail;
}

/* --- the agent: n actions, epsilon-greedy, three estimators --- */

typedef struct { double a, b, wp, wn, wz; } rate_state;

INLINE double ratio(double x, double y) { return y != 0.0 ? x / y : 0.0; }

INLINE double rate_value(int agent, const rate_state *r) {
    if (agent != HARMONIC) return ratio(r->a, r->b);
    double total = r->wp + r->wn + r->wz;
    return ratio(r->wp, total) * ratio(r->wp, r->a) + ratio(r->wn, total) * ratio(r->wn, r->b);
}

INLINE void rate_update(int agent, rate_state *r, double beta, double reward, double duration) {
    if (agent == SMART) {
        r->a += reward;
        r->b += duration;
    } else if (agent == RELAXED_SMART) {
        r->a += beta * (reward - r->a);
        r->b += beta * (duration - r->b);
    } else {
        double q = reward != 0.0 ? duration / reward : 0.0;
        r->a += beta * ((reward > 0.0 ? q : 0.0) - r->a);
        r->b += beta * ((reward < 0.0 ? q : 0.0) - r->b);
        r->wp += beta * ((reward > 0.0 ? 1.0 : 0.0) - r->wp);
        r->wn += beta * ((reward < 0.0 ? 1.0 : 0.0) - r->wn);
        r->wz += beta * ((reward == 0.0 ? 1.0 : 0.0) - r->wz);
    }
}

INLINE int greedy(const double *row, int64_t n) {
    int best = 0;
    double highest = row[0];
    for (int64_t a = 1; a < n; a++)
        if (row[a] > highest) { best = (int)a; highest = row[a]; }
    return best;
}
INLINE double largest(const double *row, int64_t n) {
    double highest = row[0];
    for (int64_t a = 1; a < n; a++) if (row[a] > highest) highest = row[a];
    return highest;
}

INLINE int draw(const double *row, int64_t n, double epsilon, uint64_t *rng, int *explored) {
    double u = unit(word(rng));
    *explored = u < epsilon;
    return *explored ? (int)(u / epsilon * (double)n) : greedy(row, n);
}

/* Sojourn refuses a transition that breaks the rules, whoever wrote the world; so does this. */
INLINE int legal(double reward, double duration, int64_t next, int64_t num_states) {
    return 0 <= next && next < num_states && 0.0 < duration && duration < INFINITY && fabs(reward) < INFINITY;
}

INLINE void learn(int agent, double *q, int64_t n, rate_state *rate, double alpha, double beta, int64_t state,
                  int action, int explored, double reward, double duration, int64_t next, totals *sum) {
    double *row = q + n * state;
    int accepted = !explored || action == greedy(row, n);
    double delta = reward - rate_value(agent, rate) * duration + largest(q + n * next, n) - row[action];
    row[action] += alpha * delta;
    sum->reward += reward;
    sum->clock += duration;
    if (accepted) {
        rate_update(agent, rate, beta, reward, duration);
        sum->greedy_reward += reward;
        sum->greedy_duration += duration;
        sum->greedy_steps += 1.0;
    }
}

/* --- the two worlds --- */

INLINE void two_state(int agent, int64_t num_states, int64_t n, int64_t episodes, int64_t steps, double v, double alpha, double beta,
                      double epsilon, uint64_t *world_rng, uint64_t *agent_rng, double *q, totals *out) {
    totals sum = {0};
    rate_state rate = {0};
    uint64_t rng[4] = {agent_rng[0], agent_rng[1], agent_rng[2], agent_rng[3]};
    int64_t key = (int64_t)(word(world_rng) >> 2) + 1;
    for (int64_t e = 0; e < episodes; e++) {
        int64_t state = 0;
        for (int64_t k = 0; k < steps; k++) {
            int explored, action = draw(q + n * state, n, epsilon, rng, &explored);
            double reward, duration, t = (double)k;
            int64_t next = 1 - state;
            if (state == 1) {
                reward = 0.0;
                duration = 1.0;
            } else if (action == 0) {
                duration = fmax(0.001, 1.0 + 0.1 * normal_quantile(unit(word_at(key, k))));
                reward = 0.05 * t;
            } else {
                duration = fmax(0.001, (cos(t) + 10.0) * pow(10.0, v / 2.0 * t));
                reward = (sin(t) + 10.0) * pow(10.0, v * t);
            }
            if (!legal(reward, duration, next, num_states)) return;
            learn(agent, q, n, &rate, alpha, beta, state, action, explored, reward, duration, next, &sum);
            state = next;
        }
    }
    *out = sum;
    out->rate = rate_value(agent, &rate);
}

INLINE void recorded(int agent, int64_t num_states, int64_t n, int64_t episodes, int64_t steps, const double *rewards, const double *durations,
                     const int64_t *states, double alpha, double beta, double epsilon, uint64_t *agent_rng,
                     double *q, totals *out) {
    totals sum = {0};
    rate_state rate = {0};
    uint64_t rng[4] = {agent_rng[0], agent_rng[1], agent_rng[2], agent_rng[3]};
    for (int64_t e = 0; e < episodes; e++) {
        int64_t state = states[0];
        for (int64_t k = 0; k < steps; k++) {
            int explored, action = draw(q + n * state, n, epsilon, rng, &explored);
            int64_t next = states[k + 1];
            double reward = rewards[n * k + action], duration = durations[n * k + action];
            if (!legal(reward, duration, next, num_states)) return;
            learn(agent, q, n, &rate, alpha, beta, state, action, explored, reward, duration, next, &sum);
            state = next;
        }
    }
    *out = sum;
    out->rate = rate_value(agent, &rate);
}

#define EACH_AGENT(call) \
    switch (agent) { \
        case SMART: call(SMART); break; \
        case RELAXED_SMART: call(RELAXED_SMART); break; \
        default: call(HARMONIC); \
    }

void run_two_state(int agent, int64_t num_states, int64_t n, int64_t episodes, int64_t steps, double v, double alpha, double beta, double epsilon,
                   uint64_t *world_rng, uint64_t *agent_rng, double *q, totals *out) {
#define CALL(a) two_state(a, num_states, n, episodes, steps, v, alpha, beta, epsilon, world_rng, agent_rng, q, out)
    EACH_AGENT(CALL)
#undef CALL
}

void run_recorded(int agent, int64_t num_states, int64_t n, int64_t episodes, int64_t steps, const double *rewards, const double *durations,
                  const int64_t *states, double alpha, double beta, double epsilon, uint64_t *agent_rng, double *q,
                  totals *out) {
#define CALL(a) recorded(a, num_states, n, episodes, steps, rewards, durations, states, alpha, beta, epsilon, agent_rng, q, out)
    EACH_AGENT(CALL)
#undef CALL
}

/* --- lanes: runs that differ in their seeds and step sizes only, side by side ---
 *
 * The state and the outcome of each action are the same in all lanes; numbers are arrays over the lanes. The
 * selections are written so that gcc makes vector instructions of the loop.
 *
 * The agent has the options that Sojourn's has, as numbers of each lane: exploration that decays, actions that a state
 * does not have (-inf), the readings of "greedy", evidence that is carried over steps without time. Truth values are
 * multiplied where gcc would make no vector instructions of selections. With -DLEAN these options are left out, as in
 * the loop above: the least that a step of these very runs needs.
 */

#define LANES 32

enum { ACTION, DRAW, AFTER, EVERY };

typedef struct {
    uint64_t s[4][LANES];
    double a[LANES], b[LANES], wp[LANES], wn[LANES], wz[LANES];
    double reward[LANES], clock[LANES], greedy_reward[LANES], greedy_duration[LANES], greedy_steps[LANES];
    double alpha[LANES], beta[LANES], epsilon[LANES];
#ifndef LEAN
    double factor[LANES], floor[LANES], reading[LANES], carried[LANES], steps[LANES], accepted[LANES], astray[LANES];
#endif
} lanes;

INLINE void step_lanes(int agent, int count, lanes *restrict z, double *here, const double *there,
                       double r0, double r1, double d0, double d1) {
    double ahead[LANES], drawn[LANES];
    for (int i = 0; i < count; i++) ahead[i] = there[LANES + i] > there[i] ? there[LANES + i] : there[i];
    for (int i = 0; i < count; i++) {
        uint64_t s0 = z->s[0][i], s1 = z->s[1][i], s2 = z->s[2][i], s3 = z->s[3][i];
        drawn[i] = unit(rotl(s0 + s3, 23) + s0);
        s2 ^= s0; s3 ^= s1;
        z->s[0][i] = s0 ^ s3; z->s[1][i] = s1 ^ s2; z->s[2][i] = s2 ^ (s1 << 17); z->s[3][i] = rotl(s3, 45);
    }
#pragma GCC ivdep
    for (int i = 0; i < count; i++) {
        double u = drawn[i], q0 = here[i], q1 = here[LANES + i], epsilon = z->epsilon[i];
        /* Actions are doubles here: gcc makes no vector instructions of selections between truth values. */
        double best = q1 > q0 ? 1.0 : 0.0;
#ifdef LEAN
        double any = u / epsilon * 2.0 >= 1.0 ? 1.0 : 0.0;
#else
        double has0 = q0 != -INFINITY ? 1.0 : 0.0, has1 = q1 != -INFINITY ? 1.0 : 0.0;
        double nth = u / epsilon * (has0 + has1) >= 1.0 ? 1.0 : 0.0;
        double any = has1 * (1.0 - fabs(nth - has0)); /* truth values as numbers, as below */
        double later = epsilon * z->factor[i], floor = z->floor[i];
        z->epsilon[i] = later > floor ? later : floor;
#endif
        double action = u < epsilon ? any : best;
        double accepted = action == best ? 1.0 : 0.0; /* what was not drawn to explore is the best */
        double reward = action != 0.0 ? r1 : r0, duration = action != 0.0 ? d1 : d0, q = action != 0.0 ? q1 : q0;
        rate_state rate = {z->a[i], z->b[i], z->wp[i], z->wn[i], z->wz[i]}, next = rate;
        double moved = q + z->alpha[i] * (reward - rate_value(agent, &rate) * duration + ahead[i] - q);
        double new0 = action != 0.0 ? q0 : moved, new1 = action != 0.0 ? moved : q1;
        here[i] = new0;
        here[LANES + i] = new1;
#ifdef LEAN
        double changes = accepted;
        rate_update(agent, &next, z->beta[i], reward, duration);
#else
        double unexplored = u < epsilon ? 0.0 : 1.0, reading = z->reading[i];
        double greedy_after = 1.0 - fabs(action - (new1 > new0 ? 1.0 : 0.0));
        double by_action = reading == ACTION ? 1.0 : 0.0, by_draw = reading == DRAW ? 1.0 : 0.0;
        double after = reading == AFTER ? 1.0 : 0.0, every = reading == EVERY ? 1.0 : 0.0;
        accepted = by_action * accepted + by_draw * unexplored + (after * greedy_after + every);
        double carried = z->carried[i], evidence = carried + reward, passes = duration > 0.0 ? 1.0 : 0.0;
        double changes = accepted * passes, kept = passes != 0.0 ? 0.0 : evidence;
        z->carried[i] = accepted != 0.0 ? kept : carried;
        rate_update(agent, &next, z->beta[i], evidence, duration);
        z->steps[i] += 1.0;
        z->accepted[i] = accepted;
        double astray = z->astray[i];
        z->astray[i] = action < 2.0 ? astray : 1.0;
#endif
        z->a[i] = changes != 0.0 ? next.a : rate.a;
        z->b[i] = changes != 0.0 ? next.b : rate.b;
        if (agent == HARMONIC) {
            z->wp[i] = changes != 0.0 ? next.wp : rate.wp;
            z->wn[i] = changes != 0.0 ? next.wn : rate.wn;
            z->wz[i] = changes != 0.0 ? next.wz : rate.wz;
        }
        z->reward[i] += reward;
        z->clock[i] += duration;
        double greedy_reward = z->greedy_reward[i], greedy_duration = z->greedy_duration[i];
        z->greedy_reward[i] = accepted != 0.0 ? greedy_reward + reward : greedy_reward;
        z->greedy_duration[i] = accepted != 0.0 ? greedy_duration + duration : greedy_duration;
        z->greedy_steps[i] += accepted;
    }
}

INLINE lanes begun(double alpha, double beta, double epsilon, const uint64_t *rng) {
    lanes z = {0};
    for (int k = 0; k < 4; k++) for (int i = 0; i < LANES; i++) z.s[k][i] = rng[k * LANES + i];
    for (int i = 0; i < LANES; i++) { z.alpha[i] = alpha; z.beta[i] = beta; z.epsilon[i] = epsilon; }
#ifndef LEAN
    for (int i = 0; i < LANES; i++) { z.factor[i] = 1.0; z.reading[i] = ACTION; }
#endif
    return z;
}

/* As above, in both worlds; q is [state][action][LANES], and rng [4][LANES]. The records may be those of the two-state
 * world: its noise is that of one seed. */
INLINE void two_state_lanes(int agent, int count, int64_t episodes, int64_t steps, double v, double alpha, double beta,
                            double epsilon, uint64_t *world_rng, uint64_t *rng, double *q, double *out) {
    lanes z = begun(alpha, beta, epsilon, rng);
    int64_t key = (int64_t)(word(world_rng) >> 2) + 1;
    for (int64_t e = 0; e < episodes; e++)
        for (int64_t k = 0; k < steps; k++) {
            double t = (double)k, r0 = 0.0, r1 = 0.0, d0 = 1.0, d1 = 1.0;
            int64_t state = k & 1;
            if (state == 0) {
                d0 = fmax(0.001, 1.0 + 0.1 * normal_quantile(unit(word_at(key, k))));
                r0 = 0.05 * t;
                d1 = fmax(0.001, (cos(t) + 10.0) * pow(10.0, v / 2.0 * t));
                r1 = (sin(t) + 10.0) * pow(10.0, v * t);
            }
            if (!legal(r0, d0, 0, 1) || !legal(r1, d1, 0, 1)) return;
            step_lanes(agent, count, &z, q + state * 2 * LANES, q + (1 - state) * 2 * LANES, r0, r1, d0, d1);
        }
    for (int i = 0; i < LANES; i++) { out[i] = z.reward[i]; out[LANES + i] = z.greedy_reward[i]; }
}

INLINE void recorded_lanes(int agent, int count, int64_t num_states, int64_t steps, const double *rewards,
                           const double *durations, const int64_t *states, double alpha, double beta, double epsilon,
                           uint64_t *rng, double *q, double *out) {
    lanes z = begun(alpha, beta, epsilon, rng);
    for (int64_t k = 0; k < steps; k++) {
        int64_t state = states[k], next = states[k + 1];
        const double *r = rewards + 2 * k, *d = durations + 2 * k;
        if (!legal(r[0], d[0], next, num_states) || !legal(r[1], d[1], next, num_states)) return;
        step_lanes(agent, count, &z, q + state * 2 * LANES, q + next * 2 * LANES, r[0], r[1], d[0], d[1]);
    }
    for (int i = 0; i < LANES; i++) { out[i] = z.reward[i]; out[LANES + i] = z.greedy_reward[i]; }
}

void lanes_two_state(int agent, int count, int64_t episodes, int64_t steps, double v, double alpha, double beta,
                     double epsilon, uint64_t *world_rng, uint64_t *rng, double *q, double *out) {
#define CALL(a) two_state_lanes(a, count, episodes, steps, v, alpha, beta, epsilon, world_rng, rng, q, out)
    EACH_AGENT(CALL)
#undef CALL
}

void lanes_recorded(int agent, int count, int64_t num_states, int64_t steps, const double *rewards,
                    const double *durations, const int64_t *states, double alpha, double beta, double epsilon,
                    uint64_t *rng, double *q, double *out) {
#define CALL(a) recorded_lanes(a, count, num_states, steps, rewards, durations, states, alpha, beta, epsilon, rng, q, out)
    EACH_AGENT(CALL)
#undef CALL
}
