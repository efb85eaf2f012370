/* Q-learning with tiles in a continuous world, written by hand: the yardstick of tiles in `make bench`.
 *
 * The same draws and the same arithmetic in the same order as Sojourn's `tile_q`, with its box made of what was seen, its
 * centred rate and its ties at random; exp and log are the C library's. The tiles of a state are found once.
 */
#include <string.h>

#include "reference.c"

enum { WEAR, OFFERS, ACTIONS = 2, MOST_INPUTS = 2 };

typedef struct {
    int64_t inputs, tilings, *first, *strides, *active[2];
    double *tiles, *shifts, *weights;
    double low[MOST_INPUTS], per_unit[MOST_INPUTS], mean[MOST_INPUTS], squares[MOST_INPUTS], least[MOST_INPUTS];
    int64_t seen, next_change;
} tiling;

INLINE void find(const tiling *t, const double *state, int64_t *active) {
    for (int64_t k = 0; k < t->tilings; k++) active[k] = t->first[k];
    for (int64_t i = 0; i < t->inputs; i++) {
        double x = fmin(fmax((state[i] - t->low[i]) * t->per_unit[i], 0.0), 1.0);
        const double *shifts = t->shifts + i * t->tilings;
        const int64_t *strides = t->strides + i * t->tilings;
        for (int64_t k = 0; k < t->tilings; k++)
            active[k] += (int64_t)(x * t->tiles[k] + shifts[k]) * strides[k];
    }
}

INLINE double total(const tiling *t, const int64_t *active, int action) {
    double sum = 0.0;
    for (int64_t k = 0; k < t->tilings; k++) sum += t->weights[active[k] * ACTIONS + action];
    return sum;
}

INLINE double best(const tiling *t, const int64_t *active, double share, int *chosen) {
    double highest = -INFINITY;
    int count = 0;
    *chosen = 0;
    for (int a = 0; a < ACTIONS; a++) {
        double value = total(t, active, a);
        if (value > highest) { *chosen = a; highest = value; count = 1; }
        else if (value == highest) count++;
    }
    if (count > 1 && share > 0.0) {
        int left = (int)(share * count);
        for (int a = 0; a < ACTIONS; a++)
            if (total(t, active, a) == highest) { if (left == 0) *chosen = a; left--; }
    }
    return highest;
}

/* Returns whether the box has changed, so that tiles have to be found anew. */
INLINE int note(tiling *t, const double *state) {
    t->seen++;
    for (int64_t i = 0; i < t->inputs; i++) {
        double off = state[i] - t->mean[i];
        t->mean[i] += off / (double)t->seen;
        t->squares[i] += off * (state[i] - t->mean[i]);
    }
    if (t->seen != t->next_change) return 0;
    t->next_change = 2 * t->seen;
    for (int64_t i = 0; i < t->inputs; i++) {
        double spread = 3.0 * sqrt(t->squares[i] / (double)t->seen);
        double low = fmax(t->least[i], t->mean[i] - spread), high = t->mean[i] + spread;
        t->low[i] = low;
        t->per_unit[i] = high > low ? 1.0 / (high - low) : 0.0;
    }
    return 1;
}

INLINE double exponential(uint64_t *rng) { return -log(unit(word(rng))); }

INLINE void offer(double *state, uint64_t *rng) {
    state[0] = normal_quantile(unit(word(rng)));
    state[1] = normal_quantile(unit(word(rng)));
}

INLINE void step_in(int world, const double *s, int action, uint64_t *rng, double *next, double *reward,
                    double *duration) {
    if (world == WEAR) {
        double length = (1.0 + s[0]) * exponential(rng), growth = 0.1 * exponential(rng);
        next[0] = action == 1 ? 0.0 : s[0] + growth;
        *reward = action == 1 ? -1.0 : 1.0 - 1.6 * s[0] * s[0];
        *duration = action == 1 ? 0.5 : length;
    } else {
        *reward = action == 1 ? exp(0.5 * (s[0] + s[1])) : 0.0;
        double length = action == 1 ? exp(s[0]) : 0.0;
        offer(next, rng);
        *duration = length + 0.5 * exponential(rng);
    }
}

INLINE void learn_tiles(int world, tiling *t, int64_t steps, double alpha, double beta, double epsilon, double kappa,
                        uint64_t *world_rng, uint64_t *agent_rng, totals *out) {
    totals sum = {0};
    double states[2][MOST_INPUTS] = {{0}};
    double x = 0.0, y = 0.0, level = 0.0, mean = 0.0, count = 0.0;
    uint64_t here_rng[4], rng[4];
    memcpy(here_rng, world_rng, sizeof here_rng);
    memcpy(rng, agent_rng, sizeof rng);
    int at = 0;
    if (world == OFFERS) offer(states[0], here_rng);
    find(t, states[0], t->active[0]);
    for (int64_t k = 0; k < steps; k++) {
        double *state = states[at], *next = states[1 - at];
        int64_t *active = t->active[at], *ahead_active = t->active[1 - at];
        double u = unit(word(rng)), reward, duration;
        int explored = u < epsilon, action, ignored;
        if (explored) action = (int)(u / epsilon * ACTIONS);
        else best(t, active, (u - epsilon) / (1.0 - epsilon), &action);
        step_in(world, state, action, here_rng, next, &reward, &duration);
        if (!(fabs(next[0]) < INFINITY && 0.0 <= duration && duration < INFINITY && fabs(reward) < INFINITY)) return;
        int accepted = !explored || total(t, active, action) == best(t, active, 0.0, &ignored);
        find(t, next, ahead_active);
        double ahead = best(t, ahead_active, 0.0, &ignored);
        count += 1.0;
        mean += fmax(0.001, 1.0 / count) * (duration - mean);
        double rate = ratio(x, y) + ratio(kappa * level, mean);
        double delta = reward - rate * duration + ahead - total(t, active, action);
        level += 0.01 * (ahead - level);
        double each = alpha * delta / (double)t->tilings;
        for (int64_t i = 0; i < t->tilings; i++) t->weights[active[i] * ACTIONS + action] += each;
        if (note(t, state)) find(t, next, ahead_active);
        sum.reward += reward;
        sum.clock += duration;
        if (accepted) {
            x += beta * (reward - x);
            y += beta * (duration - y);
            sum.greedy_reward += reward;
            sum.greedy_duration += duration;
            sum.greedy_steps += 1.0;
        }
        at = 1 - at;
    }
    *out = sum;
    out->rate = ratio(x, y) + ratio(kappa * level, mean);
}

void run_tiles(int world, int64_t inputs, int64_t tilings, int64_t *first, int64_t *strides, double *tiles,
               double *shifts, double *weights, double *least, int64_t steps, double alpha, double beta, double epsilon,
               double kappa, uint64_t *world_rng, uint64_t *agent_rng, totals *out) {
    int64_t active[2][1024];
    tiling t = {.inputs = inputs, .tilings = tilings, .first = first, .strides = strides, .tiles = tiles,
                .shifts = shifts, .weights = weights, .active = {active[0], active[1]}, .next_change = 1};
    memcpy(t.least, least, (size_t)inputs * sizeof(double));
    if (world == WEAR) learn_tiles(WEAR, &t, steps, alpha, beta, epsilon, kappa, world_rng, agent_rng, out);
    else learn_tiles(OFFERS, &t, steps, alpha, beta, epsilon, kappa, world_rng, agent_rng, out);
}
