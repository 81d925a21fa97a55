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

/**
 * The number that one of Student's t distribution is below with probability `p`, 0.5 < p < 1, to four digits from two
 * degrees of freedom on; they need not be whole (Hill, "Algorithm 396: Student's t-quantiles", CACM 13, 1970).
 */
export function studentQuantile(p: number, degrees: number): number {
  const n = degrees
  if (n <= 1) return Math.tan(Math.PI * (p - 0.5))
  const x = normalQuantile(p)
  const a = 1 / (n - 0.5)
  const b = 48 / (a * a)
  const d = ((94.5 / (b + cornish(a, b)) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n
  const power = (2 * d * (1 - p)) ** (2 / n)
  const y = power > 0.05 + a ? nearMiddle({ n, x, a, b, d }) : inTail(power, n, d)
  return Math.sqrt(n * y)
}

const cornish = (a: number, b: number): number => (((20_700 * a) / b - 98) * a - 16) * a + 96.36

/** The asymptotic inverse expansion about the normal quantile `x`. */
function nearMiddle({
  n,
  x,
  a,
  b,
  d,
}: Readonly<Record<'n' | 'x' | 'a' | 'b' | 'd', number>>): number {
  const few = n < 5 ? 0.3 * (n - 4.5) * (0.6 - x) : 0
  const c = (((0.05 * d * -x - 5) * -x - 7) * -x - 2) * -x + b + cornish(a, b) + few
  const square = x * x
  const y = (((((0.4 * square + 6.3) * square + 36) * square + 94.5) / c - square - 3) / b + 1) * x
  return Math.expm1(a * y * y)
}

function inTail(y: number, n: number, d: number): number {
  const first = 1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3)
  return ((first + 0.5 / (n + 4)) * y - 1) * ((n + 1) / (n + 2)) + 1 / y
}
