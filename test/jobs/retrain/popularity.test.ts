import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { RetrainOptions } from '../../../src/jobs/retrain/options.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import { decodeFactors } from '../../../src/models/als/row.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'

const DAMPING = 2
let folder: string
let topics: LogTopics

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-retrain-popularity-'))
  topics = new LogTopics(join(folder, 'log'))
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const ratings = (from: number, to: number, items: number): readonly Rating[] =>
  Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    const rating = 1 + ((n * 7) % 5)
    return { user: `u${n % 17}`, item: `i${n % items}`, rating, timestamp: n * 1000 }
  })
const base = ratings(0, 200, 11)
/** Also of items that `base` does not have. */
const later = ratings(200, 260, 13)

async function feed(some: readonly Rating[]): Promise<void> {
  const options = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
  await feedRatings(ratingsTable(some), options)
}

/** Options of a retraining, during which `arriving` come when the training has ended. */
function options(arriving: readonly Rating[] = []): RetrainOptions {
  const trainer = new RetrainTrainer(() => {})
  return {
    place: { logDirectory: join(folder, 'log') },
    registry: new ModelRegistry({
      place: { logDirectory: join(folder, 'registry') },
      clock: systemClock,
    }),
    model: 'popular',
    observations: 'ratings',
    popularity: { damping: DAMPING },
    temporary: join(folder, 'temporary'),
    start: () => ({
      async ask(request) {
        const answer = await trainer.answer(request)
        if (request.kind === 'train' && arriving.length > 0) await feed(arriving)
        return answer as never
      },
      async [Symbol.asyncDispose]() {},
    }),
    newId: () => 'id',
    clock: systemClock,
  }
}

/** The rows of items of a version, as the last records have them. */
async function itemRows(version: number): Promise<ReadonlyMap<string, Float32Array>> {
  const rows = new Map<string, Float32Array>()
  await scanTopic(topics, 'popular', (record) => {
    const [key = '', of] = new TextDecoder().decode(record.key()!).split('@')
    if (key.endsWith('-I') && of === String(version)) {
      rows.set(key.slice(0, -2), decodeFactors(record.value()!))
    }
    return true
  })
  return rows
}

describe('a retraining of a popularity model', () => {
  it('publishes the damped means, with those of the ratings that arrived meanwhile', async () => {
    await feed(base)
    const outcome = await retrain(options(later))
    expect(outcome).toMatchObject({
      kind: 'candidate',
      version: {
        ...{ number: 1, users: 17, dimension: 2, biased: true },
        lineage: {
          code: 'popularity/1',
          hyperparameters: { trainer: 'popularity', damping: DAMPING },
          metrics: { observations: base.length },
        },
      },
    })
    const mean = base.reduce((sum, { rating }) => sum + rating, 0) / base.length
    const byItem = Map.groupBy([...base, ...later], ({ item }) => item)
    const rows = await itemRows(1)
    expect([...rows.keys()].sort()).toEqual([...byItem.keys()].sort())
    for (const [item, own] of byItem) {
      const sum = own.reduce((total, { rating }) => total + rating, DAMPING * mean)
      const [one, bias] = rows.get(item)!
      expect(one).toBe(1)
      expect(mean + bias!, item).toBeCloseTo(sum / (own.length + DAMPING), 5)
    }
  })

  it('is not done again on the same ratings, but with another damping', async () => {
    await feed(base)
    await retrain(options())
    expect(await retrain(options())).toMatchObject({ kind: 'exists', version: { number: 1 } })
    const other = { ...options(), popularity: { damping: 9 } }
    expect(await retrain(other)).toMatchObject({ kind: 'candidate', version: { number: 2 } })
  })

  it('refuses options that name no kind of model', async () => {
    const { popularity: _, ...none } = options() as RetrainOptions & { popularity?: object }
    await expect(retrain(none as RetrainOptions)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('name no kind of model'),
    })
  })
})
