/* Which query is asked at every node of a level: what `autoprog.diagnosis.scores` defines, on packed rows.

symbol    meaning
M, N      objects, queries
rows      responses, N bits a row, most significant bit of a byte first; read as W words of 64 bits
lane      a query's place in the arrays below, of which there are 64 W; those from N on mean nothing
segment   objects of one node and one target; the objects of a node stand by target
planes    counts of the ones of many rows, bit k of every lane's count in the words of plane k

Equally likely objects are counted by planes: eight rows are added at once by carry-save adders. Otherwise weights are
added lane by lane; where a segment has at most eight objects, what it adds is looked up by which of them answer 1.
Nothing is shared between calls, so that any number of threads may call. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "lanes are read from words as from bytes: a little-endian machine is needed"
#endif

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef uint64_t word;

EXPORTED const uint32_t source_crc = SOURCE_CRC; /* of this file, given by the build */

enum { LARGEST_SHARE, GROUP_INFORMATION, EXPONENTIAL_BOUND };
enum { AHEAD = 16, TOGETHER = 8, MANY = 16, PATTERNS = 8, FEW = 64, MAX_PLANES = 24 };

static const double TIE = 1e-12, TINY = 2.2250738585072014e-308, UNUSABLE = 1e300, LN2 = 0.69314718055994530942;

typedef struct {
    const uint8_t *rows;
    int64_t M, N, stride;     /* bytes from row to row */
    const int64_t *target;    /* (M,) */
    const double *weights;    /* (M,); NULL where all are 1 */
    const double *powers;     /* (M,) weight ** alpha for EXPONENTIAL_BOUND */
    const double *table;      /* (M + 1,) of a count c: c log2 c, or c ** alpha */
    const double *costs;      /* (N,) in multiples of the largest; NULL where all are equal */
    const int64_t *by_cost;   /* (N,) queries by ascending cost, equal ones by index; NULL without costs */
    const uint64_t *keys;     /* (M,) for random ties; NULL takes the first */
    const uint8_t *barred;    /* (N,) queries that cannot be asked; NULL for none */
    int64_t criterion;
    double alpha, log_base;
} Model;

/* Working memory of a call. */
typedef struct {
    int64_t W, lanes, first_tail;
    uint8_t *tail;            /* the last rows once more, where reading whole words would leave the array */
    const uint8_t *zeros;
    word *planes, *all;
    word *open;               /* lanes of the queries that may be asked */
    uint8_t *bytes;           /* counts of a small segment */
    uint32_t *counts, *total;
    double *right, *left, *first, *second, *value, *sums, *small;
    int64_t *alone, *few;     /* objects that are the only ones, or among few, of their target */
} Memory;

#define INLINE static inline __attribute__((always_inline))

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef word words8 __attribute__((vector_size(64)));
typedef word words4 __attribute__((vector_size(32)));

static uint64_t spread[256];  /* the bits of a byte as eight bytes */
static double ones[256][8];   /* and as eight numbers */

__attribute__((constructor)) static void lay_out(void)
{
    for (int byte = 0; byte < 256; byte++)
        for (int j = 0; j < 8; j++) {
            uint64_t bit = (uint64_t)(byte >> (7 - j) & 1);
            spread[byte] |= bit << (8 * j);
            ones[byte][j] = (double)bit;
        }
}

INLINE uint64_t bits_of(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
INLINE double number_of(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
INLINE word word_at(const uint8_t *row, int64_t w) { word x; memcpy(&x, row + 8 * w, 8); return x; }

/* log2 of x >= 0 within two units of the last place, without branches; finite, and meaningless, at 0. */
INLINE double log2_of(double x)
{
    const uint64_t half_root = 0x3FE6A09E667F3BCDu;
    double subnormal = x < TINY ? 54.0 : 0.0;
    uint64_t u = bits_of(x < TINY ? x * 18014398509481984.0 : x) + (0x3FF0000000000000u - half_root);
    double exponent = number_of(0x4330000000000000u | (u >> 52)) - 4503599627371519.0;  /* 2^52 + 1023 */
    double m = number_of((u & 0x000FFFFFFFFFFFFFu) + half_root);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 21 + z / 23;
    p = 1.0 / 19 + z * p;
    p = 1.0 / 17 + z * p;
    p = 1.0 / 15 + z * p;
    p = 1.0 / 13 + z * p;
    p = 1.0 / 11 + z * p;
    p = 1.0 / 9 + z * p;
    p = 1.0 / 7 + z * p;
    p = 1.0 / 5 + z * p;
    p = 1.0 / 3 + z * p;
    return (exponent - subnormal) + (2.0 / LN2) * (s + s * (z * p));
}

/* 2 ** y for y <= 1000; 0 below -1000. */
INLINE double exp2_of(double y)
{
    const double magic = 6755399441055744.0;
    double bounded = y < -1000.0 ? -1000.0 : y;
    double shifted = bounded + magic, f = (bounded - (shifted - magic)) * LN2;
    double p = 1.0 / 6227020800.0 + f / 87178291200.0;
    p = 1.0 / 479001600.0 + f * p;
    p = 1.0 / 39916800.0 + f * p;
    p = 1.0 / 3628800.0 + f * p;
    p = 1.0 / 362880.0 + f * p;
    p = 1.0 / 40320.0 + f * p;
    p = 1.0 / 5040.0 + f * p;
    p = 1.0 / 720.0 + f * p;
    p = 1.0 / 120.0 + f * p;
    p = 1.0 / 24.0 + f * p;
    p = 1.0 / 6.0 + f * p;
    p = 1.0 / 2.0 + f * p;
    double scale = number_of((bits_of(shifted) << 52) + 0x3FF0000000000000u);
    return y < -1000.0 ? 0.0 : (1.0 + (f + f * f * p)) * scale;
}

INLINE double power_of(double x, double alpha) { return x > 0.0 ? exp2_of(alpha * log2_of(x)) : 0.0; }

/* Mass times the entropy of how it is divided, bits. */
INLINE double entropy_of(double right, double left, double mass)
{
    return -right * log2_of(right / mass) - left * log2_of(left / mass);
}

/* Have a row come into the cache before it is wanted: those of a segment lie anywhere. */
INLINE void call_ahead(const Model *model, const int64_t *objects, int64_t i, int64_t m)
{
    if (i >= m) return;
    const uint8_t *row = model->rows + objects[i] * model->stride;
    for (int64_t b = 0; b < model->stride; b += 64) __builtin_prefetch(row + b);
    __builtin_prefetch(row + model->stride - 1);
}

INLINE const uint8_t *row_of(const Model *model, const Memory *memory, int64_t object)
{
    return object < memory->first_tail ? model->rows + object * model->stride
                                       : memory->tail + (object - memory->first_tail) * 8 * memory->W;
}

/* Add bits a and b to `sum`; T is a word or several. */
#define ADD(T, carry, sum, a, b) do { T u = (sum) ^ (a); carry = ((sum) & (a)) | (u & (b)); sum = u ^ (b); } while (0)

/* Add eight rows to the planes, sizeof(T) bytes from word w on. */
#define COUNT(T)                                                                                        \
    do {                                                                                                \
        T two_a, two_b, four_a, four_b, over, s1, s2, s4, x[8];                                         \
        for (int j = 0; j < 8; j++) memcpy(&x[j], r[j] + 8 * w, sizeof(T));                             \
        memcpy(&s1, planes + w, sizeof(T));                                                             \
        memcpy(&s2, planes + W + w, sizeof(T));                                                         \
        memcpy(&s4, planes + 2 * W + w, sizeof(T));                                                     \
        ADD(T, two_a, s1, x[0], x[1]);                                                                  \
        ADD(T, two_b, s1, x[2], x[3]);                                                                  \
        ADD(T, four_a, s2, two_a, two_b);                                                               \
        ADD(T, two_a, s1, x[4], x[5]);                                                                  \
        ADD(T, two_b, s1, x[6], x[7]);                                                                  \
        ADD(T, four_b, s2, two_a, two_b);                                                               \
        ADD(T, over, s4, four_a, four_b);                                                               \
        memcpy(planes + w, &s1, sizeof(T));                                                             \
        memcpy(planes + W + w, &s2, sizeof(T));                                                         \
        memcpy(planes + 2 * W + w, &s4, sizeof(T));                                                     \
        for (int k = 3; k < n_planes; k++) {                                                            \
            T plane, sum;                                                                               \
            memcpy(&plane, planes + k * W + w, sizeof(T));                                              \
            sum = plane ^ over;                                                                         \
            over &= plane;                                                                              \
            memcpy(planes + k * W + w, &sum, sizeof(T));                                                \
        }                                                                                               \
        w += (int64_t)(sizeof(T) / sizeof(word));                                                       \
    } while (0)

/* Count the ones of m rows in every lane; the number of planes. */
INLINE int count_planes(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t W = memory->W;
    word *restrict planes = memory->planes;
    int n_planes = 0;
    while (m >> n_planes) n_planes++;
    memset(planes, 0, (size_t)((n_planes < 4 ? 4 : n_planes) * W) * sizeof(word));
    for (int64_t i = 0; i < m; i += 8) {
        const uint8_t *r[8];
        for (int64_t j = 0; j < 8; j++) {
            call_ahead(model, objects, i + j + AHEAD, m);
            r[j] = i + j < m ? row_of(model, memory, objects[i + j]) : memory->zeros;
        }
        int64_t w = 0;
        while (w + 8 <= W) COUNT(words8);
        if (w + 4 <= W) COUNT(words4);
        while (w < W) COUNT(word);
    }
    return n_planes;
}

/* Counts below 256, a byte a lane. */
INLINE void byte_counts(const Memory *memory, int first, int n_planes, uint8_t *restrict bytes)
{
    const int64_t W = memory->W;
    const uint8_t *plane = (const uint8_t *)(memory->planes + first * W);
    for (int64_t b = 0; b < 8 * W; b++) {
        uint64_t eight = 0;
        for (int k = 0; k < n_planes; k++) eight |= spread[plane[8 * W * k + b]] << k;
        memcpy(bytes + 8 * b, &eight, 8);
    }
}

/* Counts of any size. */
INLINE void lane_counts(const Memory *memory, int n_planes)
{
    uint32_t *restrict counts = memory->counts;
    const uint8_t *restrict bytes = memory->bytes;
    for (int first = 0; first == 0 || first < n_planes; first += 8) {
        byte_counts(memory, first, n_planes - first < 8 ? n_planes - first : 8, memory->bytes);
        if (first == 0)
            for (int64_t q = 0; q < memory->lanes; q++) counts[q] = bytes[q];
        else
            for (int64_t q = 0; q < memory->lanes; q++) counts[q] |= (uint32_t)bytes[q] << first;
    }
}

/* Keep the bits of `all` that a row has, sizeof(T) bytes from word w on. */
#define KEEP(T)                                                                                         \
    do {                                                                                                \
        T here, kept;                                                                                   \
        memcpy(&here, row + 8 * w, sizeof(T));                                                          \
        memcpy(&kept, all + w, sizeof(T));                                                              \
        kept &= here;                                                                                   \
        memcpy(all + w, &kept, sizeof(T));                                                              \
        w += (int64_t)(sizeof(T) / sizeof(word));                                                       \
    } while (0)

/* Add the weights of the objects that answer 1, in the order of the objects. */
INLINE void add_weights(
    const Model *model, const Memory *memory, const int64_t *objects, int64_t m, const double *weights, double *sums)
{
    const int64_t n_bytes = model->stride;
    for (int64_t i = 0; i < m; i += TOGETHER) {
        const uint8_t *row[TOGETHER];
        double weight[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) {
            call_ahead(model, objects, i + k + AHEAD, m);
            row[k] = i + k < m ? row_of(model, memory, objects[i + k]) : memory->zeros;
            weight[k] = i + k < m ? weights[objects[i + k]] : 0.0;
        }
        for (int64_t b = 0; b < n_bytes; b++) {
            int some = 0;
            for (int k = 0; k < TOGETHER; k++) some |= row[k][b];
            if (!some) continue;
            eight sum = *(const eight *)(sums + 8 * b);
            for (int k = 0; k < TOGETHER; k++) sum += *(const eight *)ones[row[k][b]] * weight[k];
            *(eight *)(sums + 8 * b) = sum;
        }
    }
}

/* Which lanes all objects answer 1. */
INLINE void find_all(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    word *restrict all = memory->all;
    memset(all, 0xFF, (size_t)memory->W * sizeof(word));
    for (int64_t i = 0; i < m; i++) {
        const uint8_t *row = row_of(model, memory, objects[i]);
        int64_t w = 0;
        while (w + 8 <= memory->W) KEEP(words8);
        if (w + 4 <= memory->W) KEEP(words4);
        while (w < memory->W) KEEP(word);
    }
}

/* What answers 0, from what answers 1: nothing exactly where all answer 1, as the bits tell, and above 0 elsewhere. */
INLINE void fill_left(const Memory *memory, const double *restrict right, double mass, double *restrict left)
{
    const uint8_t *all = (const uint8_t *)memory->all;
    for (int64_t b = 0; b < 8 * memory->W; b++) {
        const double *full = ones[all[b]];
        for (int j = 0; j < 8; j++) {
            double rest = mass - right[8 * b + j];
            rest = rest > TINY ? rest : TINY;
            left[8 * b + j] = rest * (1.0 - full[j]);
        }
    }
}

/* Where the segment ends that begins at i. */
INLINE int64_t end_of(const Model *model, const int64_t *objects, int64_t i, int64_t m)
{
    const int64_t target = model->target[objects[i]];
    do i++;
    while (i < m && model->target[objects[i]] == target);
    return i;
}

INLINE double sum_of(const double *weights, const int64_t *objects, int64_t m)
{
    double sum = 0.0;
    for (int64_t i = 0; i < m; i++) sum += weights[objects[i]];
    return sum;
}

/* Transpose 8 x 8 bits: byte j of x is row j, byte j of the result is column j, row k its bit k. */
INLINE uint64_t transposed(uint64_t x)
{
    uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
    return x ^ t ^ (t << 28);
}

/* Add what a segment of at most eight objects adds, by which of them answer 1. */
INLINE void add_small(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t size = (int64_t)1 << m;
    const int lambda = model->criterion == EXPONENTIAL_BOUND;
    double *restrict sum = memory->small, *restrict term = memory->small + 256;
    double *restrict first = memory->first, *restrict second = memory->second;
    sum[0] = 0.0;
    for (int64_t k = 0; k < m; k++)
        for (int64_t p = 0; p < (int64_t)1 << k; p++) sum[(1 << k) + p] = sum[p] + model->weights[objects[k]];
    for (int64_t p = 0; p < size; p++)
        term[p] = lambda ? power_of(sum[p], model->alpha) : entropy_of(sum[p], sum[size - 1 - p], sum[size - 1]);
    const uint8_t *r[8];
    for (int64_t k = 0; k < 8; k++) r[k] = k < m ? row_of(model, memory, objects[k]) : memory->zeros;
    for (int64_t b = 0; b < model->stride; b++) {
        uint64_t x = 0;
        for (int k = 0; k < 8; k++) x |= (uint64_t)r[k][b] << (8 * k);
        x = transposed(x);
        for (int j = 0; j < 8; j++) {  /* lane j is the bit 7 - j of a byte */
            int64_t p = (int64_t)(x >> (8 * (7 - j)) & 0xFF);
            first[8 * b + j] += term[p];
            if (lambda) second[8 * b + j] += term[size - 1 - p];
        }
    }
}

/* Add the term of each lane's count, which are `step` numbers apart. */
INLINE void add_terms(
    int64_t lanes, const uint8_t *restrict count, const double *restrict term, int step, double *restrict sum)
{
    for (int64_t q = 0; q < lanes; q += 8) {
        eight some;
        for (int j = 0; j < 8; j++) some[j] = term[step * count[q + j]];
        *(eight *)(sum + q) += some;
    }
}

/* Add the terms of a segment of equally likely objects, and its counts where they are many. */
INLINE void add_counts(const Model *model, const Memory *memory, const int64_t *objects, int64_t size)
{
    const double *restrict table = model->table;
    double *restrict first = memory->first, *restrict second = memory->second, *restrict term = memory->small;
    const int lambda = model->criterion == EXPONENTIAL_BOUND;
    const int n_planes = count_planes(model, memory, objects, size);
    if (size < 256) {
        for (int64_t c = 0; c <= size; c++) term[c] = lambda ? table[c] : table[size] - table[c] - table[size - c];
        byte_counts(memory, 0, n_planes, memory->bytes);
        const uint8_t *restrict c = memory->bytes;
        add_terms(memory->lanes, c, term, 1, first);
        if (lambda) add_terms(memory->lanes, c, term + size, -1, second);
        if (size >= MANY)
            for (int64_t q = 0; q < memory->lanes; q++) memory->total[q] += c[q];
    } else {
        lane_counts(memory, n_planes);
        const uint32_t *restrict c = memory->counts;
        if (lambda)
            for (int64_t q = 0; q < memory->lanes; q++) first[q] += table[c[q]], second[q] += table[size - c[q]];
        else
            for (int64_t q = 0; q < memory->lanes; q++) first[q] += table[size] - table[c[q]] - table[size - c[q]];
        for (int64_t q = 0; q < memory->lanes; q++) memory->total[q] += c[q];
    }
}

/* Sums over the segments of a node whose objects are equally likely: of the terms in `first` and `second`, and the
   number of ones in `counts`. */
INLINE double add_counted(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    double *restrict first = memory->first, *restrict second = memory->second;
    int64_t *alone = memory->alone, n_alone = 0, *few = memory->few, n_few = 0;
    double whole = 0.0;
    memset(memory->total, 0, (size_t)memory->lanes * sizeof(uint32_t));
    for (int64_t i = 0, end; i < m; i = end) {
        end = end_of(model, objects, i, m);
        const int64_t size = end - i;
        if (size < MANY)
            for (int64_t k = i; k < end; k++) few[n_few++] = objects[k];
        if (size == 1)
            alone[n_alone++] = objects[i];
        else {
            whole += model->table[size];
            add_counts(model, memory, objects + i, size);
        }
    }
    if (model->criterion == EXPONENTIAL_BOUND && n_alone) {
        lane_counts(memory, count_planes(model, memory, alone, n_alone));
        for (int64_t q = 0; q < memory->lanes; q++) {
            first[q] += (double)memory->counts[q];
            second[q] += (double)(n_alone - (int64_t)memory->counts[q]);
        }
    }
    lane_counts(memory, count_planes(model, memory, few, n_few));
    for (int64_t q = 0; q < memory->lanes; q++) memory->counts[q] += memory->total[q];
    return whole + (double)n_alone;
}

/* The same by weight; the weight of the ones is added to `right`. */
INLINE double add_weighed(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    double *restrict first = memory->first, *restrict second = memory->second, *restrict right = memory->right;
    double *restrict sums = memory->sums, *restrict left = memory->left;
    const int lambda = model->criterion == EXPONENTIAL_BOUND;
    int64_t *alone = memory->alone, n_alone = 0, waiting = 0; /* from where on nothing is in `right` yet */
    double whole = 0.0;
    for (int64_t i = 0, end; i < m; i = end) {
        end = end_of(model, objects, i, m);
        const int64_t size = end - i;
        if (size == 1) {
            alone[n_alone++] = objects[i];
            continue;
        }
        const double mass = sum_of(model->weights, objects + i, size);
        if (lambda) whole += power_of(mass, model->alpha);
        if (size <= PATTERNS) {
            add_small(model, memory, objects + i, size);
            continue;
        }
        add_weights(model, memory, objects + waiting, i - waiting, model->weights, right);
        waiting = end;
        memset(sums, 0, (size_t)memory->lanes * sizeof(double));
        add_weights(model, memory, objects + i, size, model->weights, sums);
        find_all(model, memory, objects + i, size);
        fill_left(memory, sums, mass, left);
        for (int64_t q = 0; q < memory->lanes; q++) right[q] += sums[q];
        if (lambda)
            for (int64_t q = 0; q < memory->lanes; q++) {
                first[q] += power_of(sums[q], model->alpha);
                second[q] += power_of(left[q], model->alpha);
            }
        else
            for (int64_t q = 0; q < memory->lanes; q++) first[q] += entropy_of(sums[q], left[q], mass);
    }
    add_weights(model, memory, objects + waiting, m - waiting, model->weights, right);
    if (lambda && n_alone) {
        const double sum = sum_of(model->powers, alone, n_alone);
        memset(sums, 0, (size_t)memory->lanes * sizeof(double));
        add_weights(model, memory, alone, n_alone, model->powers, sums);
        for (int64_t q = 0; q < memory->lanes; q++) {
            first[q] += sums[q];
            second[q] += sum > sums[q] ? sum - sums[q] : 0.0;
        }
        whole += sum;
    }
    return whole;
}

/* The value of each lane from its sums, the least best: minus its gain where costs differ. The most by which equal values
   differ; gains within it of 0 are 0. */
INLINE double score(const Model *model, const Memory *memory, int64_t lanes, int64_t m, double mass, double whole)
{
    double *restrict value = memory->value, *restrict right = memory->right, *restrict left = memory->left;
    const double *restrict first = memory->first, *restrict second = memory->second, *restrict table = model->table;
    const uint32_t *restrict counts = memory->counts;
    double tolerance = TIE;
    if (model->criterion == LARGEST_SHARE) {
        if (model->costs)
            for (int64_t q = 0; q < lanes; q++) value[q] = -2.0 * (left[q] / mass) * (right[q] / mass);
        else
            for (int64_t q = 0; q < lanes; q++) value[q] = (right[q] > left[q] ? right[q] : left[q]) / mass;
    } else if (model->criterion == GROUP_INFORMATION) {
        if (model->weights)
            for (int64_t q = 0; q < lanes; q++)
                value[q] = 1.0 - (entropy_of(right[q], left[q], mass) - first[q]) / mass;
        else {
            const double inverse = 1.0 / mass, all = table[m];
            for (int64_t q = 0; q < lanes; q++)
                value[q] = 1.0 - (all - table[counts[q]] - table[m - counts[q]] - first[q]) * inverse;
        }
        if (model->costs)
            for (int64_t q = 0; q < lanes; q++) value[q] = value[q] < 1.0 ? value[q] - 1.0 : 0.0;
    } else {
        const double root = 1.0 / model->alpha, bound = log2_of(whole) * root, base = log2_of(mass);
        const double unit = LN2 / model->log_base;
        for (int64_t q = 0; q < lanes; q++) {
            double a = log2_of(first[q]) * root, b = log2_of(second[q]) * root;
            double high = a > b ? a : b, low = a > b ? b : a;
            value[q] = high + log2_of(1.0 + exp2_of(low - high));
        }
        if (model->costs)
            for (int64_t q = 0; q < lanes; q++) value[q] = bound > value[q] ? (value[q] - bound) * unit : 0.0;
        else
            for (int64_t q = 0; q < lanes; q++) value[q] = (value[q] - base) * LN2;
        const double rounding = 16 * 2.220446049250313e-16 * (1.0 + log2_of(1.0 + whole) * LN2) * root;
        tolerance = model->costs ? rounding / model->log_base : rounding;
        if (tolerance < TIE) tolerance = TIE;
    }
    if (model->costs)
        for (int64_t q = 0; q < lanes; q++) value[q] = value[q] < -tolerance ? value[q] : 0.0;
    for (int64_t q = 0; q < lanes; q++) value[q] = (right[q] > 0.0) & (left[q] > 0.0) ? value[q] : UNUSABLE;
    return tolerance;
}

/* The values of all queries at a node. */
INLINE double values_of(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t lanes = memory->lanes;
    const size_t size = (size_t)lanes * sizeof(double);
    double *restrict value = memory->value, *restrict right = memory->right, *restrict left = memory->left;
    double mass = (double)m, whole = 0.0;
    memset(memory->first, 0, size);
    memset(memory->second, 0, size);
    if (model->weights) {
        memset(right, 0, size);
        mass = sum_of(model->weights, objects, m);
        if (model->criterion == LARGEST_SHARE)
            add_weights(model, memory, objects, m, model->weights, right);
        else
            whole = add_weighed(model, memory, objects, m);
        find_all(model, memory, objects, m);
        fill_left(memory, right, mass, left);
    } else {
        if (model->criterion == LARGEST_SHARE)
            lane_counts(memory, count_planes(model, memory, objects, m));
        else
            whole = add_counted(model, memory, objects, m);
        for (int64_t q = 0; q < lanes; q++) {
            right[q] = (double)memory->counts[q];
            left[q] = mass - right[q];
        }
    }
    const double tolerance = score(model, memory, lanes, m, mass, whole);
    for (int64_t q = model->N; q < lanes; q++) value[q] = UNUSABLE;
    if (model->barred)
        for (int64_t q = 0; q < model->N; q++)
            if (model->barred[q]) value[q] = UNUSABLE;
    return tolerance;
}

INLINE double least_of(const double *restrict value, int64_t lanes)
{
    double least[8] = {UNUSABLE, UNUSABLE, UNUSABLE, UNUSABLE, UNUSABLE, UNUSABLE, UNUSABLE, UNUSABLE};
    for (int64_t q = 0; q < lanes; q += 8)
        for (int j = 0; j < 8; j++) least[j] = value[q + j] < least[j] ? value[q + j] : least[j];
    double all = least[0];
    for (int j = 1; j < 8; j++) all = least[j] < all ? least[j] : all;
    return all;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Whether a value at a cost is as good as the least value per cost. */
INLINE int is_as_good(double value, double cost, double least, double tolerance)
{
    return value <= least * cost + tolerance && (value < 0.0 || least >= 0.0);
}

/* Leave the cheapest of the queries with the least value per cost, at 0, and no other; 0 where none can be asked. */
INLINE int leave_cheapest(const Model *model, const Memory *memory, double tolerance)
{
    const double *restrict costs = model->costs;
    double *restrict value = memory->value, *restrict rate = memory->first;
    for (int64_t q = 0; q < model->N; q++) rate[q] = value[q] < UNUSABLE ? value[q] / costs[q] : UNUSABLE;
    for (int64_t q = model->N; q < memory->lanes; q++) rate[q] = UNUSABLE;
    const double least = least_of(rate, memory->lanes);
    if (least >= UNUSABLE) return 0;
    double cheapest = UNUSABLE;
    for (int64_t q = 0; q < model->N; q++)
        if (is_as_good(value[q], costs[q], least, tolerance) && costs[q] < cheapest) cheapest = costs[q];
    for (int64_t q = 0; q < model->N; q++)
        value[q] = costs[q] <= cheapest && is_as_good(value[q], costs[q], least, tolerance) ? 0.0 : UNUSABLE;
    return 1;
}

/* The query of the least value, or value per cost; -1 where none can be asked. */
INLINE int64_t best_of(const Model *model, const Memory *memory, const int64_t *objects, int64_t m, double tolerance)
{
    double *restrict value = memory->value;
    if (model->costs && !leave_cheapest(model, memory, tolerance)) return -1;
    const double least = least_of(value, memory->lanes);
    if (least >= UNUSABLE) return -1;
    const double bound = least + tolerance;
    uint64_t passed = 0;
    if (model->keys) {
        uint64_t sum = 0, tied = 0;
        for (int64_t i = 0; i < m; i++) sum += model->keys[objects[i]];
        for (int64_t q = 0; q < model->N; q++) tied += value[q] <= bound;
        passed = mixed(sum) % tied;
    }
    for (int64_t q = 0; q < model->N; q++)
        if (value[q] <= bound && passed-- == 0) return q;
    return -1;
}

/* The lanes at which the objects, relative to the first of them, answer as the bits of a pattern; by word. */
INLINE word matching(const Model *model, const Memory *memory, const uint8_t *const *row, int64_t m, int64_t p, int64_t w)
{
    (void)model;
    const word own = word_at(row[0], w);
    word match = memory->open[w];
    for (int64_t k = 1; k < m; k++) {
        const word differs = word_at(row[k], w) ^ own;
        match &= p >> k & 1 ? differs : ~differs;
    }
    return match;
}

/* The values of the ways to divide at most eight objects: of those that answer otherwise than the first, as bits. */
INLINE double value_divisions(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t size = (int64_t)1 << m;
    double *restrict right = memory->right, *restrict left = memory->left, *restrict value = memory->value;
    double *restrict first = memory->first, *restrict second = memory->second, *restrict term = memory->small;
    const int lambda = model->criterion == EXPONENTIAL_BOUND;
    double whole = 0.0;
    right[0] = 0.0, memory->counts[0] = 0;
    for (int64_t k = 0; k < m; k++)
        for (int64_t p = 0; p < (int64_t)1 << k; p++) {
            right[((int64_t)1 << k) + p] = right[p] + (model->weights ? model->weights[objects[k]] : 1.0);
            memory->counts[((int64_t)1 << k) + p] = memory->counts[p] + 1;
        }
    for (int64_t p = 0; p < size; p++) left[p] = right[size - 1 - p];
    memset(first, 0, (size_t)size * sizeof(double));
    memset(second, 0, (size_t)size * sizeof(double));
    for (int64_t i = 0, end; i < m && model->criterion != LARGEST_SHARE; i = end) {
        end = end_of(model, objects, i, m);
        const int64_t within = ((int64_t)1 << (end - i)) - 1;
        if (within == 1 && !lambda) continue;
        for (int64_t p = 0; p <= within; p++) { /* a pattern of these objects alone, and the others 0 */
            const double mass = right[p << i];
            term[p] = lambda ? power_of(mass, model->alpha) : entropy_of(mass, right[(within - p) << i], right[within << i]);
        }
        whole += term[within];
        for (int64_t p = 0; p < size; p++) {
            first[p] += term[p >> i & within];
            second[p] += term[within - (p >> i & within)];
        }
    }
    const int64_t lanes = size < 8 ? 8 : size;
    const double tolerance = score(model, memory, size, m, right[size - 1], whole);
    for (int64_t p = size; p < lanes; p++) value[p] = UNUSABLE;
    for (int64_t p = 1; p < size; p += 2) value[p] = UNUSABLE; /* the same division as its complement */
    return tolerance;
}

/* The best query at a node of at most eight objects: the ways to divide them are valued, not the queries. */
INLINE int64_t best_division(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t size = (int64_t)1 << m, W = memory->W;
    double *restrict value = memory->value;
    const double tolerance = value_divisions(model, memory, objects, m);
    const uint8_t *row[PATTERNS];
    for (int64_t k = 0; k < m; k++) row[k] = row_of(model, memory, objects[k]);
    /* No query may make the best division. A pass looks at the divisions of the least value and at those that are as good
       by the tolerance, and rules out the ones that no query makes. If none of the least value is left, the next pass
       begins at a larger one. So every pass but the last rules out a division, of which there are fewer than 2^(m - 1). */
    for (;;) {
        const double least = least_of(value, size < 8 ? 8 : size);
        if (least >= UNUSABLE) return -1;
        int64_t query = INT64_MAX; /* the first of those that divide as well */
        int possible = 0;          /* whether one of them has the least value */
        for (int64_t p = 2; p < size; p += 2) {
            if (value[p] > least + tolerance) continue;
            int64_t w = 0;
            word match = 0;
            for (; w < W && !match; w++) match = matching(model, memory, row, m, p, w);
            if (match) {
                const int64_t q = 64 * (w - 1) + __builtin_clzll(__builtin_bswap64(match));
                if (q < query) query = q;
                possible |= value[p] <= least;
            } else
                value[p] = UNUSABLE;
        }
        if (possible) return query;
    }
}

/* The value of a query at a node of at most eight objects, from those of the divisions. */
INLINE double value_of_division(
    const Model *model, const Memory *memory, const uint8_t *const *row, int64_t m, int64_t q)
{
    const int64_t byte = q >> 3;
    const int bit = 7 - (int)(q & 7);
    if (!(((const uint8_t *)memory->open)[byte] >> bit & 1)) return UNUSABLE;
    int64_t p = 0;
    for (int64_t k = 1; k < m; k++) p |= (int64_t)((row[k][byte] ^ row[0][byte]) >> bit & 1) << k;
    return memory->value[p];
}

/* The best query per cost at a node of at most eight objects. Values are at most 0, so that a dearer query has less per
   cost even if it divides best: the cheapest are looked at first, until no dearer one can be as good. Of the queries
   looked at, the first that is as good as the best is the cheapest of those. */
INLINE int64_t cheapest_division(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t size = (int64_t)1 << m;
    const double tolerance = value_divisions(model, memory, objects, m);
    const double lowest = least_of(memory->value, size < 8 ? 8 : size);
    const uint8_t *row[PATTERNS];
    for (int64_t k = 0; k < m; k++) row[k] = row_of(model, memory, objects[k]);
    double least = UNUSABLE;
    int64_t seen = 0;
    for (; seen < model->N; seen++) {
        const int64_t q = model->by_cost[seen];
        if (least < UNUSABLE && lowest / model->costs[q] >= least) break;
        const double value = value_of_division(model, memory, row, m, q);
        if (value < UNUSABLE && value / model->costs[q] < least) least = value / model->costs[q];
    }
    if (least >= UNUSABLE) return -1;
    for (int64_t i = 0; i < seen; i++) {
        const int64_t q = model->by_cost[i];
        if (is_as_good(value_of_division(model, memory, row, m, q), model->costs[q], least, tolerance)) return q;
    }
    return -1;
}

/* The first query that divides equally likely objects most evenly: the best by every criterion where no two of them are
   of one target. */
INLINE int64_t most_even(const Model *model, const Memory *memory, const int64_t *objects, int64_t m)
{
    const int64_t W = memory->W;
    const int n_planes = count_planes(model, memory, objects, m);
    for (int64_t half = m / 2; half > 0; half--)
        for (int64_t w = 0; w < W; w++) {
            word few = memory->open[w], many = few;
            for (int k = 0; k < n_planes; k++) {
                const word plane = memory->planes[k * W + w];
                few &= half >> k & 1 ? plane : ~plane;
                many &= (m - half) >> k & 1 ? plane : ~plane;
            }
            if (few | many) return 64 * w + __builtin_clzll(__builtin_bswap64(few | many));
        }
    return -1;
}

INLINE int all_alone(const Model *model, const int64_t *objects, int64_t m)
{
    for (int64_t i = 1; i < m; i++)
        if (model->target[objects[i]] == model->target[objects[i - 1]]) return 0;
    return 1;
}

INLINE void choose_each(
    const Model *model, const Memory *memory, const int64_t *order, const int64_t *start, const int64_t *stop, int64_t n,
    int64_t *query)
{
    const int first_of_equals = !model->costs && !model->keys, cheapest = model->costs && !model->keys;
    for (int64_t a = 0; a < n; a++) {
        const int64_t *objects = order + start[a], m = stop[a] - start[a];
        if (first_of_equals && m <= PATTERNS)
            query[a] = best_division(model, memory, objects, m);
        else if (cheapest && m <= PATTERNS)
            query[a] = cheapest_division(model, memory, objects, m);
        else if (first_of_equals && !model->weights && m <= FEW
                 && (model->criterion == LARGEST_SHARE || all_alone(model, objects, m)))
            query[a] = most_even(model, memory, objects, m);
        else
            query[a] = best_of(model, memory, objects, m, values_of(model, memory, objects, m));
    }
}

/* The same code for what the processor can do. */
#if defined(__x86_64__) && defined(__GNUC__)
#define V4 __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define V3 __attribute__((target("arch=x86-64-v3")))
#endif

typedef void Choose(
    const Model *, const Memory *, const int64_t *, const int64_t *, const int64_t *, int64_t, int64_t *);
typedef void Sum(const Model *, const Memory *, const int64_t *, const int64_t *, int64_t, const double *, double *);

/* Sums of weights over the objects that answer 1, for every run of objects. */
INLINE void sum_each(
    const Model *model, const Memory *memory, const int64_t *objects, const int64_t *start, int64_t n,
    const double *weights, double *out)
{
    for (int64_t a = 0; a < n; a++) {
        memset(memory->sums, 0, (size_t)memory->lanes * sizeof(double));
        add_weights(model, memory, objects + start[a], start[a + 1] - start[a], weights, memory->sums);
        memcpy(out + a * model->N, memory->sums, (size_t)model->N * sizeof(double));
    }
}

#define VERSION(name, attribute)                                                                                   \
    attribute static void choose_##name(                                                                          \
        const Model *model, const Memory *memory, const int64_t *order, const int64_t *start, const int64_t *stop, \
        int64_t n, int64_t *query)                                                                                 \
    {                                                                                                              \
        choose_each(model, memory, order, start, stop, n, query);                                                  \
    }                                                                                                              \
    attribute static void sum_##name(                                                                             \
        const Model *model, const Memory *memory, const int64_t *objects, const int64_t *start, int64_t n,         \
        const double *weights, double *out)                                                                        \
    {                                                                                                              \
        sum_each(model, memory, objects, start, n, weights, out);                                                  \
    }

VERSION(plain, )
#ifdef V4
VERSION(v3, V3)
VERSION(v4, V4)
#endif

EXPORTED int processor_limit = 4; /* as which level of x86-64 the processor is used at most; tests lower it */

static int level(void)
{
    int found = 0;
#ifdef V4
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) found = 3;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        found = 4;
#endif
    return found < processor_limit ? found : processor_limit;
}

static Choose *choose_here(void)
{
#ifdef V4
    return level() > 3 ? choose_v4 : level() > 2 ? choose_v3 : choose_plain;
#else
    return choose_plain;
#endif
}

static Sum *sum_here(void)
{
#ifdef V4
    return level() > 3 ? sum_v4 : level() > 2 ? sum_v3 : sum_plain;
#else
    return sum_plain;
#endif
}

/* The next n bytes of a block, rounded up to whole words. */
static void *taken(char **block, size_t n)
{
    char *at = *block;
    *block += (n + 7) / 8 * 8;
    return at;
}

/* Lay out the working memory; what is to be freed, NULL where there is too little. */
static void *begin(const Model *model, Memory *memory)
{
    const int64_t W = (model->stride + 7) / 8, lanes = 64 * W, margin = 8 * W - model->stride;
    const int64_t unsafe = (margin + model->stride - 1) / model->stride, n_tail = unsafe < model->M ? unsafe : model->M;
    const size_t row = (size_t)W * sizeof(word), numbers = (size_t)(lanes < 256 ? 256 : lanes) * sizeof(double);
    char *block = calloc(1, (MAX_PLANES + 3) * row + 7 * numbers + 512 * sizeof(double) + (size_t)lanes
                                + 2 * (size_t)model->M * sizeof(int64_t) + (size_t)n_tail * row + 64);
    if (!block) return NULL;
    char *rest = block;
    memory->W = W, memory->lanes = lanes, memory->first_tail = model->M - n_tail;
    memory->right = taken(&rest, numbers), memory->left = taken(&rest, numbers);
    memory->first = taken(&rest, numbers), memory->second = taken(&rest, numbers);
    memory->value = taken(&rest, numbers), memory->sums = taken(&rest, numbers);
    memory->small = taken(&rest, 512 * sizeof(double));
    memory->alone = taken(&rest, (size_t)model->M * sizeof(int64_t));
    memory->few = taken(&rest, (size_t)model->M * sizeof(int64_t));
    memory->planes = taken(&rest, MAX_PLANES * row);
    memory->all = taken(&rest, row), memory->open = taken(&rest, row);
    memory->zeros = taken(&rest, row), memory->tail = taken(&rest, (size_t)n_tail * row);
    memory->counts = taken(&rest, numbers / 2), memory->total = taken(&rest, numbers / 2);
    memory->bytes = taken(&rest, (size_t)lanes);
    for (int64_t i = 0; i < n_tail; i++)
        memcpy(memory->tail + i * 8 * W, model->rows + (model->M - n_tail + i) * model->stride, (size_t)model->stride);
    uint8_t *open = (uint8_t *)memory->open;
    for (int64_t q = 0; q < model->N; q++)
        if (!model->barred || !model->barred[q]) open[q >> 3] |= (uint8_t)(128 >> (q & 7));
    return block;
}

/* The query to ask at each of n nodes, -1 where none splits it; 0 where there is too little memory. */
EXPORTED int choose(
    const Model *model, const int64_t *order, const int64_t *start, const int64_t *stop, int64_t n, int64_t *query)
{
    Memory memory;
    void *block = begin(model, &memory);
    if (!block) return 0;
    choose_here()(model, &memory, order, start, stop, n, query);
    free(block);
    return 1;
}

/* Sums over n runs, the last of which ends at start[n], shape (n, N); 0 where there is too little memory. */
EXPORTED int run_sums(
    const Model *model, const int64_t *objects, const int64_t *start, int64_t n, const double *weights, double *out)
{
    Memory memory;
    void *block = begin(model, &memory);
    if (!block) return 0;
    sum_here()(model, &memory, objects, start, n, weights, out);
    free(block);
    return 1;
}

/* Put the objects of each node that answer 0 before those that answer 1; where these begin in `middle`. */
EXPORTED int partition(
    const Model *model, int64_t *order, const int64_t *start, const int64_t *stop, int64_t n, const int64_t *query,
    int64_t *middle)
{
    int64_t *later = malloc((size_t)model->M * sizeof(int64_t));
    if (!later) return 0;
    for (int64_t a = 0; a < n; a++) {
        int64_t at = start[a], kept = 0;
        for (int64_t i = start[a]; i < stop[a]; i++) {
            const int64_t object = order[i];
            if (model->rows[object * model->stride + (query[a] >> 3)] >> (7 - (query[a] & 7)) & 1)
                later[kept++] = object;
            else
                order[at++] = object;
        }
        memcpy(order + at, later, (size_t)kept * sizeof(int64_t));
        middle[a] = at;
    }
    free(later);
    return 1;
}
