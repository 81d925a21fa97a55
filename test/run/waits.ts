/** What a test waits for: the start of a server, a pause of fixed length, or a condition. */
export const WAITS = ['server', 'pause', 'condition'] as const

/** One of {@link WAITS}. */
export type Wait = (typeof WAITS)[number]

/** Seconds by what they were spent on. */
export type WaitSeconds = Readonly<Record<Wait, number>>

/** A span of `performance.now()`, in ms. */
type Span = readonly [from: number, to: number]

const spans: Record<Wait, Span[]> = { server: [], pause: [], condition: [] }

/** Notes that a test waited from a time of `performance.now()` until now. */
export function noteWait(wait: Wait, fromMs: number): void {
  spans[wait].push([fromMs, performance.now()])
}

/** The result of `work`, whose duration is noted as a wait. */
export async function waiting<T>(wait: Wait, work: () => Promise<T>): Promise<T> {
  const from = performance.now()
  try {
    return await work()
  } finally {
    noteWait(wait, from)
  }
}

/** The waits of this process since the last call. Two at the same time count once, for the first of {@link WAITS}. */
export function takeWaits(): WaitSeconds {
  const seconds = { server: 0, pause: 0, condition: 0 }
  const counted: Span[] = []
  for (const wait of WAITS) {
    const before = covered(counted)
    for (const span of spans[wait].splice(0)) counted.push(span)
    seconds[wait] = (covered(counted) - before) / 1000
  }
  return seconds
}

/** The length of a union of spans. */
export function covered(all: readonly Span[]): number {
  let sum = 0
  let end = Number.NEGATIVE_INFINITY
  for (const [from, to] of [...all].sort(([a], [b]) => a - b)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}
