import { pause } from '../../run/pause.ts'

/** What a client waited for its answers. */
export interface Waits {
  readonly p99Ms: number
  readonly worstMs: number
}

/** Sends a request and checks the answer; rejects when it is wrong. */
export type Ask = () => Promise<void>

/** What a good client and a witness waited for in the same time, and what the good client did not get. */
export interface Measurement {
  readonly good: Waits
  readonly witness: Waits
  readonly answered: number
  readonly lost: readonly string[]
}

/** Requests that a measurement has unless its time ends before: the p99 is then the third largest of their waits. */
export const ENOUGH_SAMPLES = 300

/** How long a measurement takes. */
export interface Span {
  /** Ms that it takes at least. */
  readonly leastMs: number
  /** Ms after which it ends in any case. */
  readonly mostMs: number
  /** Whether what is measured has been seen whole. @default always */
  readonly isOver?: () => boolean
}

/** Asks the good client's server and the witness in turn: until there are enough samples, and what is measured is over. */
export async function measure(
  good: Ask,
  witness: Ask,
  { leastMs, mostMs, isOver = () => true }: Span,
): Promise<Measurement> {
  const goodMs: number[] = []
  const witnessMs: number[] = []
  const lost: string[] = []
  const startMs = performance.now()
  const goesOn = (): boolean => {
    const forMs = performance.now() - startMs
    if (forMs >= mostMs) return false
    return forMs < leastMs || goodMs.length < ENOUGH_SAMPLES || !isOver()
  }
  while (goesOn()) {
    await timed(goodMs, good).catch((error) => lost.push(String(error)))
    await timed(witnessMs, witness)
    await pause(2, 'the good client asks now and then')
  }
  const answered = goodMs.length - lost.length
  return { good: waitsOf(goodMs), witness: waitsOf(witnessMs), answered, lost }
}

async function timed(times: number[], ask: Ask): Promise<void> {
  const startMs = performance.now()
  try {
    await ask()
  } finally {
    times.push(performance.now() - startMs)
  }
}

function waitsOf(times: number[]): Waits {
  times.sort((a, b) => a - b)
  return { p99Ms: times[Math.floor(times.length * 0.99)] ?? 0, worstMs: times.at(-1) ?? 0 }
}
