/** Asks one question; `index` is its number. */
export type Ask = (index: number) => Promise<unknown>

/** What a stretch of load gave. */
export interface Throughput {
  /** Answers per second. */
  readonly perSecond: number
  readonly answers: number
  /** Latencies of a sample of the questions in ms, as asked. */
  readonly sampledMs: readonly number[]
}

/** Every so many questions of a lane, one is timed. */
const SAMPLE_EVERY = 64

/**
 * Keeps `outstanding` questions under way for some seconds: as many lanes, each of which asks the
 * next one when its last is answered. Rejects with the first failure.
 */
export async function measureThroughput(
  ask: Ask,
  outstanding: number,
  seconds: number,
): Promise<Throughput> {
  const sampledMs: number[] = []
  let running = true
  let next = 0
  const lane = async (): Promise<void> => {
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
    await Promise.all(Array.from({ length: outstanding }, lane))
  } finally {
    running = false
    clearTimeout(timer)
  }
  return { perSecond: (next / (performance.now() - started)) * 1000, answers: next, sampledMs }
}

/** Asks `count` questions one after the other and returns each one's latency in ms. */
export async function measureSequential(ask: Ask, count: number): Promise<Float64Array> {
  const latencies = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const asked = performance.now()
    await ask(i)
    latencies[i] = performance.now() - asked
  }
  return latencies
}

/** Asks one after the other while `isOver` is false and returns each latency in ms. */
export async function measureWhile(ask: Ask, isOver: () => boolean): Promise<number[]> {
  const latencies: number[] = []
  for (let i = 0; !isOver(); i++) {
    const asked = performance.now()
    await ask(i)
    latencies.push(performance.now() - asked)
  }
  return latencies
}
