import { generateRatings } from '../../src/models/ratings/generator.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'

const FACTORS = 32
const ITERATIONS = 4
const THREADS = 2

/**
 * `train-bmf`: ratings a second of one sweep of Bayesian factorisation, beside one iteration of ALS with its
 * default solver on the same ratings. A rating counts once for both halves.
 */
export const trainBmfBenchmark: Benchmark = {
  name: 'train-bmf',
  summary: `Bayesian factorisation on 20 M generated ratings, ${FACTORS} factors, ${THREADS} threads, against ALS`,
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
    const als = await trainAls(table, {
      factors: FACTORS,
      iterations: ITERATIONS,
      threads: THREADS,
    })
    const ends = als.history.filter(({ side }) => side === 'items')
    const rival = table.size / secondsOfOne(ends)
    say(`ALS: ${Math.round(rival)} ratings/s`)
    const { history } = await trainBmf(table, {
      factors: FACTORS,
      sweeps: ITERATIONS,
      burnIn: 1,
      threads: THREADS,
    })
    const seconds = secondsOfOne(history)
    return [
      {
        name: `train-bmf-${FACTORS}`,
        value: table.size / seconds,
        unit: 'ratings/s',
        rival,
        rivalName: 'ALS, default solver',
        targetRatio: 0.5,
        details: { ratings: table.size, secondsPerSweep: rounded(seconds) },
      },
    ]
  },
}

/** Median seconds of an iteration; the first one also starts the threads and compiles code. */
function secondsOfOne(ends: readonly { readonly seconds: number }[]): number {
  return median(ends.slice(1).map(({ seconds }, i) => seconds - (ends[i]?.seconds ?? 0)))
}
