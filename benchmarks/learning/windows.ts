import { DeltaWindow } from '../../src/jobs/learning/als/delta-window.ts'
import { type LearnedRow, newRow, scoreOf } from '../../src/models/als/online/rule.ts'
import { onlineRule } from '../../src/models/als/online/rules.ts'
import { clipRating, type Rating } from '../../src/models/ratings/rating.ts'
import { learnableModel, momentsOf } from '../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { type RatingsTable, ratingsOf } from '../../src/training/data/ratings-table.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { rounded } from '../load/statistics.ts'
import { movieLensByTime } from './movielens-by-time.ts'

const FACTORS = 10
/** Ratings per window; 1 means no window. */
const COUNTS = [1, 100, 500, 2000, 10_000]
const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface WindowOutcome {
  readonly sent: number
  readonly prequential: number
  readonly final: number
}

/** `learn-windows`: how many records windows of deltas save, and what they cost in quality. */
export const learnWindowsBenchmark: Benchmark = {
  name: 'learn-windows',
  summary: 'MovieLens 100K by time, SGD steps summed in windows: records sent, error',
  async run({ say }) {
    const parts = await movieLensByTime(say)
    if (parts === undefined) return []
    const { train, stream, held } = parts
    const model = await trainAls(train, { factors: FACTORS, threads: 2 })
    const inTime = [...ratingsOf(stream)].sort((a, b) => a.timestamp - b.timestamp)
    const outcomes = COUNTS.map((count) =>
      learnInWindows(model, { train, stream: inTime, held }, count),
    )
    return COUNTS.map((count, i) => {
      const { sent, prequential, final } = outcomes[i]!
      return {
        name: `learn-windows-${count}`,
        value: sent / inTime.length,
        unit: 'records/rating',
        higher: false,
        rival: outcomes[0]!.sent / inTime.length,
        rivalName: 'no window',
        details: { prequentialMse: rounded(prequential), testMse: rounded(final) },
      }
    })
  },
}

/** Learns as a slot does that applies deltas of items at the end of each window. */
function learnInWindows(
  model: AlsModel,
  {
    train,
    stream,
    held,
  }: {
    readonly train: RatingsTable
    readonly stream: readonly Rating[]
    readonly held: RatingsTable
  },
  count: number,
): WindowOutcome {
  const { dimension, biased, globalMean, range } = model
  const options = { rule: 'sgd', deltas: 'step', globalMean } as const
  const rule = onlineRule({ dimension, biased }, options, () => momentsOf(model))
  const start = learnableModel(model, train)
  const rows = { user: new Map<string, LearnedRow>(), item: new Map<string, LearnedRow>() }
  const rowOf = (side: 'user' | 'item', id: string): LearnedRow => {
    let row = rows[side].get(id)
    if (row === undefined) {
      const cold = side === 'user' ? start.coldUser : start.coldItem
      row = newRow(start.row(side, id) ?? cold, 0, start.evidence(side, id))
      rows[side].set(id, row)
    }
    return row
  }
  const errorOf = ({ user, item, rating }: Rating): number =>
    (rating - clipRating(scoreOf(rowOf('user', user).row, rowOf('item', item).row), range)) ** 2
  const window = new DeltaWindow({ count, intervalMs: 0 })
  const delta = new Float32Array(rule.deltaLength)
  let sent = 0
  const drain = (): void =>
    window.drain(({ key: { bytes, start, length }, values }) => {
      sent++
      const item = decoder.decode(bytes.subarray(start, start + length))
      rule.fold(rowOf('item', item), values)
    })
  let squares = 0
  for (const rating of stream) {
    squares += errorOf(rating)
    rule.learn(rowOf('user', rating.user), rowOf('item', rating.item), rating.rating, delta)
    const bytes = encoder.encode(rating.item)
    if (window.add({ bytes, start: 0, length: bytes.length }, delta)) drain()
  }
  drain()
  const final = [...ratingsOf(held)].reduce((sum, rating) => sum + errorOf(rating), 0) / held.size
  return { sent, prequential: squares / stream.length, final }
}
