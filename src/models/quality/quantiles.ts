import { normalQuantile } from '../../core/numbers/normal-quantile.ts'

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
