// ETSI EN 302 307-1 clause 5.4 (tables 9 and 10) and EN 302 307-2 clause 5.4 (tables 10a to 15d);
// thresholds: EN 302 307-1 table 13 and EN 302 307-2 tables 20a and 20b.
#include "kernels/carrier/constellation/tables.h"

namespace baseband::carrier {
namespace {

// clang-format off

// EN 302 307-2: 8APSK, rings of 2, 4 and 2.
constexpr RingPoint k8Apsk[] = {
    {0, 1000}, {1, -648}, {1, 648}, {2, 1000}, {0, 0}, {1, -352}, {1, 352}, {2, 0},
};
constexpr RingLayout k8ApskRings = {{3, -1, -1}, 1000, k8Apsk};

// EN 302 307-1 table 9 and EN 302 307-2: 16APSK, rings of 4 and 12.
constexpr RingPoint k16Apsk4[] = {{1, 3}, {1, 1}, {1, 5}, {0, 3}};
constexpr RingLayout k16Apsk4Rings = {{4, 1, 0}, 12, k16Apsk4};

// EN 302 307-2: 16APSK, rings of 8 and 8; two of its rates are tabulated as points.
constexpr RingPoint k16Apsk8[] = {{0, 1}, {0, 3}, {1, 1}, {1, 3}};
constexpr RingLayout k16Apsk8Rings = {{4, 1, 2}, 8, k16Apsk8};
constexpr TabulatedPoint k16Apsk18[] = {{4718, 2606}, {2606, 4718}, {12088, 4984}, {4984, 12088}};
constexpr PointLayout k16Apsk18Points = {{4, 1, 2}, k16Apsk18};
constexpr TabulatedPoint k16Apsk20[] = {{5061, 2474}, {2474, 5061}, {12007, 4909}, {4909, 12007}};
constexpr PointLayout k16Apsk20Points = {{4, 1, 2}, k16Apsk20};

// EN 302 307-1 table 10: 32APSK, rings of 4, 12 and 16, the outermost with points on the axes.
constexpr RingPoint k32Apsk16[] = {
    {1, 6}, {1, 10}, {1, -6}, {1, -10}, {1, 18}, {1, 14}, {1, -18}, {1, -14},
    {2, 3}, {2, 9}, {2, -6}, {2, -12}, {2, 18}, {2, 12}, {2, -21}, {2, -15},
    {1, 2}, {0, 6}, {1, -2}, {0, -6}, {1, 22}, {0, 18}, {1, -22}, {0, -18},
    {2, 0}, {2, 6}, {2, -3}, {2, -9}, {2, 21}, {2, 15}, {2, 24}, {2, -18},
};
constexpr RingLayout k32Apsk16Rings = {{5, -1, -1}, 24, k32Apsk16};

// EN 302 307-2: 32APSK, rings of 4, 12 and 16, the outermost half a step further.
constexpr RingPoint k32Apsk16Turned[] = {
    {2, 33}, {2, 27}, {1, 36}, {1, 28}, {2, 39}, {2, 45}, {1, 44}, {0, 36},
};
constexpr RingLayout k32Apsk16TurnedRings = {{5, 1, 4}, 48, k32Apsk16Turned};

// EN 302 307-2: 32APSK, rings of 4, 8, 4 and 16.
constexpr RingPoint k32Apsk8[] = {
    {0, 12}, {3, 21}, {1, 4}, {3, 3}, {1, 20}, {3, 15}, {2, 12}, {3, 9},
};
constexpr RingLayout k32Apsk8Rings = {{5, 2, 1}, 48, k32Apsk8};

// EN 302 307-2: 64APSK, four rings of 16.
constexpr RingPoint k64Apsk16[] = {
    {0, 1}, {0, 3}, {0, 7}, {0, 5}, {1, 1}, {1, 3}, {1, 7}, {1, 5},
    {3, 1}, {3, 3}, {3, 7}, {3, 5}, {2, 1}, {2, 3}, {2, 7}, {2, 5},
};
constexpr RingLayout k64Apsk16Rings = {{6, 2, 3}, 16, k64Apsk16};

// EN 302 307-2: 64APSK, rings of 8, 16, 20 and 20.
constexpr RingPoint k64Apsk8[] = {
    {1, -35}, {3, -20}, {1, -25}, {2, -20}, {3, -36}, {3, -28}, {2, -36}, {2, -28},
    {0, -30}, {3, -12}, {1, -15}, {2, -12}, {0, -10}, {3, -4}, {1, -5}, {2, -4},
};
constexpr RingLayout k64Apsk8Rings = {{6, 3, 5}, 80, k64Apsk8};

// EN 302 307-2: 64APSK, rings of 4, 12, 20 and 28.
constexpr RingPoint k64Apsk4[] = {
    {3, 105}, {3, 195}, {3, 15}, {0, 105}, {3, 135}, {3, 165}, {2, 21}, {1, 35},
    {3, 75}, {2, 189}, {3, 45}, {1, 175}, {2, 105}, {2, 147}, {2, 63}, {1, 105},
};
constexpr RingLayout k64Apsk4Rings = {{6, 1, 0}, 420, k64Apsk4};

// EN 302 307-2: 128APSK, five rings of 16 and one of 48, the angles rounded.
constexpr RingPoint k128Apsk[] = {
    {0, 332}, {5, 528}, {5, 111}, {5, 330}, {1, 242}, {2, 414}, {4, 133}, {3, 427},
    {0, 927}, {5, 732}, {5, 1149}, {5, 929}, {1, 1017}, {2, 845}, {4, 1126}, {3, 834},
    {0, 2187}, {5, 1993}, {5, 2408}, {5, 2190}, {1, 2278}, {2, 2106}, {4, 2387}, {3, 2094},
    {0, 1593}, {5, 1789}, {5, 1372}, {5, 1590}, {1, 1503}, {2, 1673}, {4, 1393}, {3, 1686},
};
constexpr RingLayout k128ApskRings = {{7, 5, 6}, 5040, k128Apsk};

// EN 302 307-2: 256APSK, eight rings of 32.
constexpr RingPoint k256Apsk[] = {
    {0, 1}, {0, 3}, {0, 7}, {0, 5}, {0, 15}, {0, 13}, {0, 9}, {0, 11},
    {1, 1}, {1, 3}, {1, 7}, {1, 5}, {1, 15}, {1, 13}, {1, 9}, {1, 11},
    {3, 1}, {3, 3}, {3, 7}, {3, 5}, {3, 15}, {3, 13}, {3, 9}, {3, 11},
    {2, 1}, {2, 3}, {2, 7}, {2, 5}, {2, 15}, {2, 13}, {2, 9}, {2, 11},
    {7, 1}, {7, 3}, {7, 7}, {7, 5}, {7, 15}, {7, 13}, {7, 9}, {7, 11},
    {6, 1}, {6, 3}, {6, 7}, {6, 5}, {6, 15}, {6, 13}, {6, 9}, {6, 11},
    {4, 1}, {4, 3}, {4, 7}, {4, 5}, {4, 15}, {4, 13}, {4, 9}, {4, 11},
    {5, 1}, {5, 3}, {5, 7}, {5, 5}, {5, 15}, {5, 13}, {5, 9}, {5, 11},
};
constexpr RingLayout k256ApskRings = {{8, 3, 4}, 32, k256Apsk};

// EN 302 307-2: 256APSK of rate 20/30, every point tabulated.
constexpr TabulatedPoint k256Apsk20[] = {
    {16350, 1593}, {15776, 4735}, {9430, 1100}, {9069, 2829}, {3237, 849}, {3228, 867},
    {7502, 1138}, {7325, 2088}, {1658, 16747}, {4907, 16084}, {1088, 9530}, {2464, 9270},
    {872, 1390}, {871, 1392}, {1091, 7656}, {1699, 7537}, {13225, 1320}, {12742, 3922},
    {10854, 1139}, {10441, 3296}, {4582, 1123}, {4545, 1251}, {6473, 1138}, {6339, 1702},
    {1322, 13631}, {3929, 13102}, {1124, 11327}, {3160, 10913}, {928, 3970}, {937, 3973},
    {1054, 5979}, {1230, 5949}, {12901, 10495}, {14625, 7740}, {7273, 6160}, {8177, 4841},
    {2844, 1296}, {2853, 1309}, {5902, 4857}, {6355, 4185}, {10646, 12876}, {7949, 14772},
    {5707, 7662}, {4490, 8461}, {1053, 1494}, {1052, 1495}, {4294, 6363}, {3744, 6744},
    {10382, 8623}, {11794, 6376}, {8504, 7217}, {9638, 5407}, {3734, 2560}, {3799, 2517},
    {4968, 3947}, {5231, 3644}, {8555, 10542}, {6363, 12064}, {6961, 8850}, {5229, 10037},
    {1938, 3621}, {1909, 3627}, {3224, 5236}, {3016, 5347},
};
constexpr PointLayout k256Apsk20Points = {{8, 4, 6}, k256Apsk20};

// EN 302 307-2: 256APSK of rate 22/30, every point tabulated.
constexpr TabulatedPoint k256Apsk22[] = {
    {15977, 1526}, {13187, 1269}, {2574, 733}, {4496, 807}, {9269, 943}, {11024, 1086},
    {7663, 867}, {6115, 871}, {12701, 10139}, {10525, 8406}, {2487, 1978}, {3523, 2915},
    {7359, 6043}, {8807, 7105}, {6017, 5019}, {4747, 3996}, {15441, 4545}, {12750, 3775},
    {2586, 752}, {4435, 1065}, {8925, 2771}, {10649, 3219}, {7362, 2279}, {5936, 1699},
    {14352, 7452}, {11866, 6182}, {2523, 1944}, {3695, 2695}, {8273, 4493}, {9911, 5243},
    {6708, 3859}, {5197, 3331}, {1646, 16329}, {1379, 13595}, {736, 898}, {742, 5054},
    {992, 9847}, {1170, 11517}, {894, 8287}, {889, 6739}, {10516, 12481}, {8742, 10355},
    {970, 2450}, {1959, 4045}, {6150, 7441}, {7345, 8743}, {4932, 6301}, {3620, 5258},
    {4866, 15660}, {4068, 13027}, {732, 899}, {877, 4997}, {2927, 9409}, {3446, 11023},
    {2350, 7945}, {1670, 6529}, {7867, 14356}, {6561, 11927}, {947, 2451}, {1865, 4121},
    {4677, 8579}, {5537, 10081}, {3893, 7143}, {3110, 5686},
};
constexpr PointLayout k256Apsk22Points = {{8, 1, 3}, k256Apsk22};

constexpr ApskEntry kEntries[] = {
    {"8APSK 100/180", &k8ApskRings, {1, 5.32, 6.8}, nullptr, 4.73},
    {"8APSK 104/180", &k8ApskRings, {1, 6.39, 8}, nullptr, 5.13},
    {"16APSK 7/15", &k16Apsk4Rings, {1, 3.32}, nullptr, 5.99},
    {"16APSK 90/180", &k16Apsk8Rings, {1, 2.19}, nullptr, 5.97},
    {"16APSK 8/15", &k16Apsk4Rings, {1, 3.5}, nullptr, 6.93},
    {"16APSK 96/180", &k16Apsk8Rings, {1, 2.19}, nullptr, 6.55},
    {"16APSK 100/180", &k16Apsk8Rings, {1, 2.19}, nullptr, 6.84},
    {"16APSK 26/45", &k16Apsk4Rings, {1, 3.7}, nullptr, 7.51},
    {"16APSK 3/5", &k16Apsk4Rings, {1, 3.7}, nullptr, 7.80},
    {"16APSK 18/30", nullptr, {}, &k16Apsk18Points, 7.41},
    {"16APSK 28/45", &k16Apsk4Rings, {1, 3.5}, nullptr, 8.10},
    {"16APSK 23/36", &k16Apsk4Rings, {1, 3.1}, nullptr, 8.38},
    {"16APSK 2/3", &k16Apsk4Rings, {1, 3.15}, nullptr, 8.97},
    {"16APSK 20/30", nullptr, {}, &k16Apsk20Points, 8.43},
    {"16APSK 25/36", &k16Apsk4Rings, {1, 3.1}, nullptr, 9.27},
    {"16APSK 32/45", &k16Apsk4Rings, {1, 2.85}, nullptr, 9.81},
    {"16APSK 13/18", &k16Apsk4Rings, {1, 2.85}, nullptr, 9.71},
    {"16APSK 3/4", &k16Apsk4Rings, {1, 2.85}, nullptr, 10.21},
    {"16APSK 140/180", &k16Apsk4Rings, {1, 3.6}, nullptr, 10.65},
    {"16APSK 4/5", &k16Apsk4Rings, {1, 2.75}, nullptr, 11.03},
    {"16APSK 5/6", &k16Apsk4Rings, {1, 2.7}, nullptr, 11.61},
    {"16APSK 154/180", &k16Apsk4Rings, {1, 3.2}, nullptr, 11.99},
    {"16APSK 8/9", &k16Apsk4Rings, {1, 2.6}, nullptr, 12.89},
    {"16APSK 9/10", &k16Apsk4Rings, {1, 2.57}, nullptr, 13.13},
    {"32APSK 2/3", &k32Apsk16TurnedRings, {1, 2.85, 5.55}, nullptr, 11.10},
    {"32APSK 2/3 short", &k32Apsk16TurnedRings, {1, 2.84, 5.54}, nullptr, 11.41},
    {"32APSK 32/45", &k32Apsk16TurnedRings, {1, 2.84, 5.26}, nullptr, 12.18},
    {"32APSK 128/180", &k32Apsk8Rings, {1, 2.6, 2.99, 5.6}, nullptr, 11.75},
    {"32APSK 132/180", &k32Apsk8Rings, {1, 2.6, 2.86, 5.6}, nullptr, 12.17},
    {"32APSK 3/4", &k32Apsk16Rings, {1, 2.84, 5.27}, nullptr, 12.73},
    {"32APSK 140/180", &k32Apsk8Rings, {1, 2.8, 3.08, 5.6}, nullptr, 13.05},
    {"32APSK 4/5", &k32Apsk16Rings, {1, 2.72, 4.87}, nullptr, 13.64},
    {"32APSK 5/6", &k32Apsk16Rings, {1, 2.64, 4.64}, nullptr, 14.28},
    {"32APSK 8/9", &k32Apsk16Rings, {1, 2.54, 4.33}, nullptr, 15.69},
    {"32APSK 9/10", &k32Apsk16Rings, {1, 2.53, 4.3}, nullptr, 16.05},
    {"64APSK 128/180", &k64Apsk16Rings, {1, 1.88, 2.72, 3.95}, nullptr, 13.98},
    {"64APSK 132/180", &k64Apsk4Rings, {1, 2.4, 4.3, 7}, nullptr, 14.81},
    {"64APSK 7/9", &k64Apsk8Rings, {1, 2.2, 3.6, 5.2}, nullptr, 15.47},
    {"64APSK 4/5", &k64Apsk8Rings, {1, 2.2, 3.6, 5.2}, nullptr, 15.87},
    {"64APSK 5/6", &k64Apsk8Rings, {1, 2.2, 3.5, 5}, nullptr, 16.55},
    {"128APSK 135/180", &k128ApskRings, {1, 1.715, 2.118, 2.681, 2.75, 3.819}, nullptr, 17.73},
    {"128APSK 140/180", &k128ApskRings, {1, 1.715, 2.118, 2.681, 2.75, 3.733}, nullptr, 18.53},
    {"256APSK 116/180", &k256ApskRings,
     {1, 1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536}, nullptr, 16.98},
    {"256APSK 20/30", nullptr, {}, &k256Apsk20Points, 17.24},
    {"256APSK 124/180", &k256ApskRings,
     {1, 1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536}, nullptr, 18.10},
    {"256APSK 128/180", &k256ApskRings,
     {1, 1.794, 2.409, 2.986, 3.579, 4.045, 4.6, 5.4}, nullptr, 18.59},
    {"256APSK 22/30", nullptr, {}, &k256Apsk22Points, 18.84},
    {"256APSK 135/180", &k256ApskRings,
     {1, 1.794, 2.409, 2.986, 3.579, 4.045, 4.5, 5.2}, nullptr, 19.57},
};

// clang-format on

}  // namespace

absl::Span<const ApskEntry> ApskEntries() { return kEntries; }

}  // namespace baseband::carrier
