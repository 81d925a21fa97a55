import { generateRatings } from '../../src/models/ratings/generator.ts'
import type { AlsFeedback, AlsProgress } from '../../src/training/als/solver/options.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { type RatingsTable, ratingsTable } from '../../src/training/data/ratings-table.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { scaled } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'
import {
  type AlsSettings,
  exportRatings,
  type ImplicitFigures,
  trainImplicit,
} from '../rivals/implicit.ts'

const SETTINGS = { iterations: 4, threads: 2, cgSteps: 3 }
const FACTORS: readonly number[] = [64, 128]
/** Wanted rate over that of `implicit` in the same run. */
const TARGET_RATIOS: Readonly<Record<number, number>> = { 64: 2, 128: 1.5 }
/** The `implicit` library's ratings/s on the machine of the targets, for where it is not installed. */
const IMPLICIT_RATES: Readonly<Record<number, number>> = { 64: 6_100_000, 128: 3_700_000 }

/** Target and rival of a figure. */
type Beside = Pick<Figure, 'target' | 'rival' | 'rivalName' | 'targetRatio'>

/**
 * `train-als`: ratings a second of ALS at 64 and 128 factors, explicit with biases and on implicit feedback.
 * A rating counts once for both half iterations. The rival computes the implicit one.
 */
export const trainAlsBenchmark: Benchmark = {
  name: 'train-als',
  summary: 'ALS on 20 M generated ratings, CG 3, 2 threads, against implicit',
  run: (options) => measureAll(FACTORS, options),
  parts: FACTORS.map((factors) => ({
    name: `train-als-${factors}`,
    summary: `train-als with ${factors} factors only`,
    run: (options) => measureAll([factors], options),
  })),
}

async function measureAll(
  widths: readonly number[],
  { scale, say, scratch }: BenchmarkOptions,
): Promise<readonly Figure[]> {
  say('generating ratings')
  const table = ratingsTable(
    generateRatings({
      users: scaled(138_493, scale),
      items: scaled(26_744, scale),
      ratings: scaled(20_000_000, scale),
      factors: 16,
    }),
  )
  const path = await exportRatings(table, scratch)
  const figures: Figure[] = []
  for (const factors of widths) {
    const settings: AlsSettings = { ...SETTINGS, factors }
    const rival = await trainImplicit({ path, table }, settings, say)
    const asked = rival === undefined ? absolute(factors) : against(rival, factors)
    if (asked.rival !== undefined) say(`implicit-${factors}: ${Math.round(asked.rival)} ratings/s`)
    for (const feedback of ['explicit', 'implicit'] as const) {
      const figure = await measure(table, settings, feedback)
      say(`${figure.name}: ${Math.round(figure.value)} ratings/s`)
      figures.push({ ...figure, ...asked })
    }
  }
  return figures
}

function absolute(factors: number): Beside {
  const [rate, targetRatio] = [IMPLICIT_RATES[factors], TARGET_RATIOS[factors]]
  return rate === undefined || targetRatio === undefined ? {} : { target: rate * targetRatio }
}

function against({ version, ratings, seconds }: ImplicitFigures, factors: number): Beside {
  const rival = ratings / median(seconds.slice(1))
  const targetRatio = TARGET_RATIOS[factors]
  return {
    rival,
    rivalName: `implicit ${version}`,
    ...(targetRatio === undefined ? {} : { targetRatio }),
  }
}

async function measure(
  table: RatingsTable,
  settings: AlsSettings,
  feedback: AlsFeedback,
): Promise<Figure> {
  const { history } = await trainAls(table, { ...settings, feedback, solver: 'cg' })
  const ends = history.filter(({ side }) => side === 'items').map(({ seconds }) => seconds)
  // The first iteration also starts the threads and compiles code.
  const iterations = ends.slice(1).map((end, i) => end - (ends[i] ?? 0))
  const seconds = median(iterations)
  return {
    name: `train-als-${feedback}-${settings.factors}`,
    value: table.size / seconds,
    unit: 'ratings/s',
    details: {
      ratings: table.size,
      users: table.users.length,
      items: table.items.length,
      secondsPerIteration: rounded(seconds),
      ...trainingError(history),
    },
  }
}

/** The last training error. Implicit feedback has none. */
function trainingError(history: readonly AlsProgress[]): Record<string, number> {
  const trainRmse = history.at(-1)?.trainRmse
  return trainRmse === undefined ? {} : { trainRmse: rounded(trainRmse) }
}
