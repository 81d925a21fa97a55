import { generateRatings } from '../src/models/ratings-generator.ts'
import type { AlsFeedback, AlsProgress } from '../src/training/als-options.ts'
import { type RatingsTable, ratingsTable } from '../src/training/ratings-table.ts'
import { trainAls } from '../src/training/train-als.ts'
import { type Benchmark, type Figure, median, rounded } from './benchmark.ts'
import { scaled } from './model-shape.ts'

const ITERATIONS = 4
const THREADS = 2
const CG_STEPS = 3
/** The `implicit` library's ratings/s on this kind of machine: same solver, 2 threads. */
const TARGETS: Readonly<Record<number, number>> = { 64: 6_100_000, 128: 3_700_000 }

/**
 * `train-als`: ratings a second of ALS, a rating counted once for both half iterations, at 64 and
 * 128 factors: explicit with biases, and on implicit feedback, which is what the rival computes.
 */
export const trainAlsBenchmark: Benchmark = {
  name: 'train-als',
  summary: 'ALS on 20 M generated ratings, 64 and 128 factors, CG 3, 2 threads',
  async run({ scale, say }) {
    say('generating ratings')
    const table = ratingsTable(
      generateRatings({
        users: scaled(138_493, scale),
        items: scaled(26_744, scale),
        ratings: scaled(20_000_000, scale),
        factors: 16,
      }),
    )
    const figures: Figure[] = []
    for (const factors of [64, 128]) {
      for (const feedback of ['explicit', 'implicit'] as const) {
        figures.push(await measure(table, factors, feedback))
        say(`${figures.at(-1)?.name}: ${Math.round(figures.at(-1)?.value ?? 0)} ratings/s`)
      }
    }
    return figures
  },
}

async function measure(
  table: RatingsTable,
  factors: number,
  feedback: AlsFeedback,
): Promise<Figure> {
  const { history } = await trainAls(table, {
    ...{ factors, feedback, iterations: ITERATIONS },
    ...{ solver: 'cg', cgSteps: CG_STEPS, threads: THREADS },
  })
  const ends = history.filter(({ side }) => side === 'items').map(({ seconds }) => seconds)
  // The first iteration also starts the threads and compiles.
  const iterations = ends.slice(1).map((end, i) => end - (ends[i] ?? 0))
  const seconds = median(iterations)
  return {
    name: `train-als-${feedback}-${factors}`,
    value: table.size / seconds,
    unit: 'ratings/s',
    ...(TARGETS[factors] === undefined ? {} : { target: TARGETS[factors] }),
    details: {
      ratings: table.size,
      users: table.users.length,
      items: table.items.length,
      secondsPerIteration: rounded(seconds),
      ...trainingError(history),
    },
  }
}

/** The last training error; implicit feedback has none. */
function trainingError(history: readonly AlsProgress[]): Record<string, number> {
  const trainRmse = history.at(-1)?.trainRmse
  return trainRmse === undefined ? {} : { trainRmse: rounded(trainRmse) }
}
