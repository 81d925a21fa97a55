import type { Random } from '../../../src/core/random.ts'
import { PredictionCache } from '../../../src/inference/cache/prediction-cache.ts'

/** A run that reads the weights at one step and ends at a later one. */
interface Run {
  readonly settle: (value: number) => void
  /** Weights that it has read; undefined before. */
  read: number | undefined
}

/** Result of a race: answers with older weights than those at the request, and how requests were answered. */
export interface RaceResult {
  readonly stale: number
  readonly answers: number
  readonly ways: readonly string[]
}

/** Interleaves observations, which change the weights, with requests over four keys and the steps of their runs. */
export async function raceObservations(random: Random, steps: number): Promise<RaceResult> {
  let weights = 0
  let stale = 0
  let answers = 0
  const ways = new Set<string>()
  const open: Run[] = []
  const { signal } = new AbortController()
  const cache = new PredictionCache<number>({
    capacity: 10_000,
    epoch: () => weights,
    bytesOf: () => 8,
    isCacheable: () => true,
  })
  const compute = (): Promise<number> =>
    new Promise((settle) => open.push({ settle, read: undefined }))
  const ask = async (key: string): Promise<void> => {
    const atStart = weights
    const { value, way } = await cache.answer({ key, signal, compute })
    answers++
    ways.add(way)
    if (value < atStart) stale++
  }
  for (let step = 0; step < steps; step++) {
    const choice = random.next()
    if (choice < 0.1) weights++
    else if (choice < 0.5) void ask(String(random.below(4)))
    else if (open.length > 0) advance(open, random.below(open.length), weights)
    if (random.next() < 0.5) await undefined
  }
  return { stale, answers, ways: [...ways].sort() }
}

/** The run reads the weights, or ends if it has read them. */
function advance(open: Run[], at: number, weights: number): void {
  const run = open[at]!
  if (run.read === undefined) run.read = weights
  else {
    open.splice(at, 1)
    run.settle(run.read)
  }
}
