/** Asks question number `index`. */
export type Ask = (index: number) => Promise<unknown>

/** Result of a stretch of load. */
export interface Throughput {
  /** Answers per second. */
  readonly perSecond: number
  readonly answers: number
  /** Latencies of a sample of the questions, in their order, ms. */
  readonly sampledMs: readonly number[]
}

/** One question of this many is timed. */
const SAMPLE_EVERY = 64

/**
 * Keeps `outstanding` questions in flight for some seconds: each of as many loops asks the next question when
 * its last one is answered. Rejects with the first failure.
 */
export async function measureThroughput(
  ask: Ask,
  outstanding: number,
  seconds: number,
): Promise<Throughput> {
  const sampledMs: number[] = []
  let running = true
  let next = 0
  const loop = async (): Promise<void> => {
    for (let turn = next; running; turn++) {
      if (turn % SAMPLE_EVERY === 0) {
        const asked = performance.now()
        await ask(next++)
        sampledMs.push(performance.now() - asked)
      } else await ask(next++)
    }
  }
  const started = performance.now()
  const timer = setTimeout(() => {
    running = false
  }, seconds * 1000)
  try {
    await Promise.all(Array.from({ length: outstanding }, loop))
  } finally {
    running = false
    clearTimeout(timer)
  }
  return { perSecond: (next / (performance.now() - started)) * 1000, answers: next, sampledMs }
}

/** Asks `count` questions one after the other. Returns the latency of each, ms. */
export async function measureSequential(ask: Ask, count: number): Promise<Float64Array> {
  const latencies = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const asked = performance.now()
    await ask(i)
    latencies[i] = performance.now() - asked
  }
  return latencies
}

/** Asks one question after the other while `isOver` is false. Returns the latency of each, ms. */
export async function measureWhile(ask: Ask, isOver: () => boolean): Promise<number[]> {
  const latencies: number[] = []
  for (let i = 0; !isOver(); i++) {
    const asked = performance.now()
    await ask(i)
    latencies.push(performance.now() - asked)
  }
  return latencies
}
