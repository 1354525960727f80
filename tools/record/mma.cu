// One matrix instruction a warp: D = C + A B as the tensor core's mma.sync gives it, without a library
// in between. Built by record_products.py with nvcc.
//
// A is 16 rows of 32 bytes, B 8 columns of 32 bytes (k without gaps in both), C and D 16 x 8 float32,
// float16 or int32. Register layouts: PTX ISA, "Matrix fragments for mma.m16n8k16" and its siblings;
// counted in bytes they are the same for every element size.
#include <cstdint>

enum Kind : int { kF16 = 0, kBf16, kTf32, kE4m3, kE5m2, kS8, kF16Accumulator };

template <int kKind>
__device__ void multiply(const uint32_t a[4], const uint32_t b[2], uint32_t d[4]) {
#define ASSAY_MMA(shape_and_types)                                                              \
  asm volatile("mma.sync.aligned." shape_and_types                                              \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                         \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (kKind == kF16) ASSAY_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  if constexpr (kKind == kBf16) ASSAY_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  if constexpr (kKind == kTf32) ASSAY_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  if constexpr (kKind == kE4m3) ASSAY_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
  if constexpr (kKind == kE5m2) ASSAY_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32");
  if constexpr (kKind == kS8) ASSAY_MMA("m16n8k32.row.col.s32.s8.s8.s32");
#undef ASSAY_MMA
  if constexpr (kKind == kF16Accumulator) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

template <int kKind>
__global__ void run(const uint8_t* a, const uint8_t* b, uint8_t* c, int tiles) {
  const int tile = blockIdx.x, lane = threadIdx.x, group = lane / 4, place = lane % 4;
  if (tile >= tiles) return;
  a += tile * 16 * 32;
  b += tile * 8 * 32;
  constexpr int kBytes = kKind == kF16Accumulator ? 2 : 4;
  c += tile * 16 * 8 * kBytes;
  const auto word = [](const uint8_t* p) { return *reinterpret_cast<const uint32_t*>(p); };
  const uint32_t fa[4] = {word(a + group * 32 + place * 4), word(a + (group + 8) * 32 + place * 4),
                          word(a + group * 32 + 16 + place * 4),
                          word(a + (group + 8) * 32 + 16 + place * 4)};
  const uint32_t fb[2] = {word(b + group * 32 + place * 4), word(b + group * 32 + 16 + place * 4)};
  if constexpr (kBytes == 2) {
    uint32_t* low = reinterpret_cast<uint32_t*>(c + (group * 8 + place * 2) * 2);
    uint32_t* high = reinterpret_cast<uint32_t*>(c + ((group + 8) * 8 + place * 2) * 2);
    uint32_t d[4] = {*low, *high, 0, 0};
    multiply<kKind>(fa, fb, d);
    *low = d[0];
    *high = d[1];
  } else {
    uint32_t* low = reinterpret_cast<uint32_t*>(c) + group * 8 + place * 2;
    uint32_t* high = low + 8 * 8;
    uint32_t d[4] = {low[0], low[1], high[0], high[1]};
    multiply<kKind>(fa, fb, d);
    low[0] = d[0];
    low[1] = d[1];
    high[0] = d[2];
    high[1] = d[3];
  }
}

// Device pointers; returns a cudaError_t.
extern "C" int assay_mma(int kind, const void* a, const void* b, void* c, int tiles) {
  const auto* pa = static_cast<const uint8_t*>(a);
  const auto* pb = static_cast<const uint8_t*>(b);
  auto* pc = static_cast<uint8_t*>(c);
  switch (kind) {
    case kF16: run<kF16><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kBf16: run<kBf16><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kTf32: run<kTf32><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kE4m3: run<kE4m3><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kE5m2: run<kE5m2><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kS8: run<kS8><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    case kF16Accumulator: run<kF16Accumulator><<<tiles, 32>>>(pa, pb, pc, tiles); break;
    default: return -1;
  }
  const cudaError_t launched = cudaGetLastError();
  return launched != cudaSuccess ? launched : cudaDeviceSynchronize();
}
