/** Coefficients of PPND7: numerator and denominator in the middle and in the tail, highest power first. */
const MIDDLE = [59.10937472, 159.29113202, 50.434271938, 3.3871327179]
const MIDDLE_UNDER = [67.1875636, 78.757757664, 17.895169469, 1]
const TAIL = [0.17023821103, 1.3067284816, 2.75681539, 1.4234372777]
const TAIL_UNDER = [0.12021132975, 0.7370016425, 1]
const FAR_TAIL = [0.017337203997, 0.42868294337, 3.081226386, 6.657905115]
const FAR_TAIL_UNDER = [0.012258202635, 0.24197894225, 1]

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0)

/**
 * The number that a standard normal one is below with probability `p`, 0 < p < 1, to seven digits (PPND7 of Wichura, "The
 * percentage points of the normal distribution", Applied Statistics 37, 1988).
 */
export function normalQuantile(p: number): number {
  const q = p - 0.5
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q
    return (q * polynomial(MIDDLE, r)) / polynomial(MIDDLE_UNDER, r)
  }
  const r = Math.sqrt(-Math.log(Math.min(p, 1 - p)))
  const size =
    r <= 5
      ? polynomial(TAIL, r - 1.6) / polynomial(TAIL_UNDER, r - 1.6)
      : polynomial(FAR_TAIL, r - 5) / polynomial(FAR_TAIL_UNDER, r - 5)
  return Math.sign(q) * size
}
