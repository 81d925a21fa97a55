/** Sums of weights that are scattered over rows, which a writer may change meanwhile. */

/** Weights that were 0 in the last `gatherDot`; -1 when a row was another one before or after. */
let zeros: i32 = 0

/** See `zeros`. */
export function gatheredZeros(): i32 {
  return zeros
}

/**
 * Whether every row's sequence word, at `headers[j]` in words, is `sequences[j]`. `behind` adds 0 to
 * the words instead of loading them, which loads before do not pass on any processor.
 */
@inline
function isCurrent(headers: usize, sequences: usize, rows: u32, behind: bool): bool {
  let differing: u32 = 0
  const end = headers + (rows << 2)
  while (headers < end) {
    const at = <usize>load<u32>(headers) << 2
    differing |= (behind ? atomic.add<u32>(at, 0) : atomic.load<u32>(at)) ^ load<u32>(sequences)
    headers += 4
    sequences += 4
  }
  return differing == 0
}

/**
 * Sum in float64 of weight x value, the weights at `addresses[k]` in words, and how many are 0. Rows
 * are looked at before and after: `behind` keeps the second look behind the weights on processors
 * that do not keep loads in order.
 */
export function gatherDot(
  headers: usize,
  sequences: usize,
  rows: u32,
  addresses: usize,
  values: usize,
  n: u32,
  behind: bool,
): f64 {
  zeros = -1
  if (!isCurrent(headers, sequences, rows, false)) return 0
  const none = f32x4.splat(0)
  let low = f64x2.splat(0)
  let high = low
  let zeroLanes = i32x4.splat(0)
  const end4 = addresses + ((n & ~3) << 2)
  while (addresses < end4) {
    let weights = v128.load32_zero(<usize>load<u32>(addresses) << 2)
    weights = v128.load32_lane(<usize>load<u32>(addresses, 4) << 2, weights, 1)
    weights = v128.load32_lane(<usize>load<u32>(addresses, 8) << 2, weights, 2)
    weights = v128.load32_lane(<usize>load<u32>(addresses, 12) << 2, weights, 3)
    const factors = v128.load(values)
    zeroLanes = i32x4.sub(zeroLanes, f32x4.eq(weights, none))
    low = f64x2.add(low, f64x2.mul(f64x2.promote_low_f32x4(weights), f64x2.promote_low_f32x4(factors)))
    const highWeights = f64x2.promote_low_f32x4(i64x2.shuffle(weights, weights, 1, 1))
    const highFactors = f64x2.promote_low_f32x4(i64x2.shuffle(factors, factors, 1, 1))
    high = f64x2.add(high, f64x2.mul(highWeights, highFactors))
    addresses += 16
    values += 16
  }
  low = f64x2.add(low, high)
  let sum = f64x2.extract_lane(low, 0) + f64x2.extract_lane(low, 1)
  let count =
    i32x4.extract_lane(zeroLanes, 0) +
    i32x4.extract_lane(zeroLanes, 1) +
    i32x4.extract_lane(zeroLanes, 2) +
    i32x4.extract_lane(zeroLanes, 3)
  const end = addresses + ((n & 3) << 2)
  while (addresses < end) {
    const weight = load<f32>(<usize>load<u32>(addresses) << 2)
    count += i32(weight == 0)
    sum += <f64>weight * <f64>load<f32>(values)
    addresses += 4
    values += 4
  }
  const stands = behind
    ? isCurrent(headers, sequences, rows, true)
    : isCurrent(headers, sequences, rows, false)
  if (stands) zeros = count
  return sum
}
