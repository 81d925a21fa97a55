import { DeltaWindow } from '../src/jobs/online-delta-window.ts'
import { newRow, scoreOf } from '../src/models/online-rule.ts'
import { onlineRule } from '../src/models/online-rules.ts'
import { clipRating, type Rating } from '../src/models/rating.ts'
import type { AlsModel } from '../src/training/als-model.ts'
import { momentsOf } from '../src/training/learnable-model.ts'
import { type RatingsTable, ratingsOf } from '../src/training/ratings-table.ts'
import { trainAls } from '../src/training/train-als.ts'
import { type Benchmark, rounded } from './benchmark.ts'
import { movieLensByTime } from './movielens-by-time.ts'

const FACTORS = 10
/** Ratings of a window; 1 is no window. */
const COUNTS = [1, 100, 500, 2000, 10_000]
const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface WindowOutcome {
  readonly sent: number
  readonly prequential: number
  readonly final: number
}

/** `learn-windows`: what windows of deltas save, and what they cost in quality. */
export const learnWindowsBenchmark: Benchmark = {
  name: 'learn-windows',
  summary: 'MovieLens 100K by time, SGD steps summed in windows: records sent, error',
  async run({ say }) {
    const parts = await movieLensByTime(say)
    if (parts === undefined) return []
    const { train, stream, held } = parts
    const model = await trainAls(train, { factors: FACTORS, threads: 2 })
    const inTime = [...ratingsOf(stream)].sort((a, b) => a.timestamp - b.timestamp)
    const outcomes = COUNTS.map((count) => learnInWindows(model, inTime, held, count))
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

/** Learns as one slot does whose items change at the end of each window. */
function learnInWindows(
  model: AlsModel,
  stream: readonly Rating[],
  held: RatingsTable,
  count: number,
): WindowOutcome {
  const { dimension, biased, globalMean, range } = model
  const options = { rule: 'sgd', deltas: 'step', globalMean } as const
  const rule = onlineRule({ dimension, biased }, options, () => momentsOf(model))
  const rows = { U: new Map<string, Float32Array>(), I: new Map<string, Float32Array>() }
  const rowOf = (kind: 'U' | 'I', id: string): Float32Array => {
    let row = rows[kind].get(id)
    if (row === undefined) {
      row = (model.rowOf(kind, id) ?? (kind === 'U' ? model.meanUser : model.meanItem)).slice()
      rows[kind].set(id, row)
    }
    return row
  }
  const learned = (row: Float32Array) => ({ ...newRow(row, 0), row })
  const errorOf = ({ user, item, rating }: Rating): number =>
    (rating - clipRating(scoreOf(rowOf('U', user), rowOf('I', item)), range)) ** 2
  const window = new DeltaWindow({ count, intervalMs: 0 })
  const delta = new Float32Array(rule.deltaLength)
  let sent = 0
  const drain = (): void =>
    window.drain(({ key: { bytes, start, length }, values }) => {
      sent++
      const item = decoder.decode(bytes.subarray(start, start + length))
      rule.fold(learned(rowOf('I', item)), values)
    })
  let squares = 0
  for (const rating of stream) {
    squares += errorOf(rating)
    const user = learned(rowOf('U', rating.user))
    rule.learn(user, learned(rowOf('I', rating.item)), rating.rating, delta)
    const bytes = encoder.encode(rating.item)
    if (window.add({ bytes, start: 0, length: bytes.length }, delta)) drain()
  }
  drain()
  const final = [...ratingsOf(held)].reduce((sum, rating) => sum + errorOf(rating), 0) / held.size
  return { sent, prequential: squares / stream.length, final }
}
