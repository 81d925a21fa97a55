import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import {
  type TestErrorOptions,
  TestErrorWatch,
  type TestSet,
} from '../../../src/jobs/retrain/test-error.ts'
import { NO_ALARMS } from '../../../src/models/quality/drift-monitor.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'

let folder: string
let topics: LogTopics
let clock: ManualClock
/** Prediction of each pair, by version. */
let scores: Record<number, number>
let measured: [number, number][]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-test-error-'))
  topics = new LogTopics(join(folder, 'log'))
  await topics.create('held-out', { partitions: 2 })
  clock = new ManualClock(0)
  scores = { 1: 3, 2: 4 }
  measured = []
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const reader = {
  predict: async (_: string, _left: string, _right: string, { version }: { version: number }) => {
    const score = scores[version]
    if (score === undefined) throw new Error('the job is restoring')
    return { score, leftCold: false, rightCold: false }
  },
  sparseDot: async () => ({ ok: true, value: { sum: 1, unknown: 0 } }),
} as unknown as ModelReader

const watching = (test: TestSet, options: Partial<TestErrorOptions> = {}): TestErrorWatch =>
  new TestErrorWatch({
    ...{ reader, state: 'ALS_MODEL', place: { logDirectory: join(folder, 'log') } },
    ...{ test, everyMs: 60_000, clock },
    onMeasured: (version, { fadedMse }) => measured.push([version, fadedMse]),
    ...options,
  })

/** Ratings of 5: a prediction of 3 is wrong by 2. */
const fives = (count: number): string =>
  Array.from({ length: count }, (_, n) => `u${n},i${n},5\n`).join('')

function file(name: string, text: string): TestSet {
  writeFileSync(join(folder, name), text)
  return { files: { places: [join(folder, name)] } }
}

async function produce(text: string): Promise<void> {
  const producer = await topics.producer('held-out')
  for (const line of text.trimEnd().split('\n')) {
    producer.sendRecord(null, Buffer.from(line), 0, 0, [])
  }
  await producer.sync()
  await producer.close()
}

describe('the error of the live version on a test set', () => {
  it('is measured once each period, and at once where another version is live', async () => {
    const watch = watching(file('test.csv', fives(120)))
    expect(await watch.look(1)).toEqual({
      fadedMse: 4,
      startMse: Number.NaN,
      count: 120,
      alarms: NO_ALARMS,
    })
    clock.advance(59_999)
    expect(await watch.look(1)).toBeUndefined()
    clock.advance(1)
    scores[1] = 2
    expect(await watch.look(1)).toMatchObject({ fadedMse: 9 })
    expect(await watch.look(2)).toMatchObject({ fadedMse: 1 })
    expect(measured).toEqual([
      [1, 4],
      [1, 9],
      [2, 1],
    ])
  })

  it('is clipped to the range', async () => {
    scores[1] = 470
    const range = { min: 1, max: 5 }
    const watch = watching(file('test.csv', fives(120)), { range })
    expect(await watch.look(1)).toMatchObject({ fadedMse: 0 })
  })

  it('is of all that a topic has by then', async () => {
    await produce(fives(100))
    const watch = watching({ topic: 'held-out' })
    expect(await watch.look(1)).toMatchObject({ count: 100 })
    await produce(fives(50))
    clock.advance(60_000)
    expect(await watch.look(1)).toMatchObject({ count: 150 })
  })

  it('is that of labels where the model is linear', async () => {
    const examples = `${'+1 1:1\n'.repeat(90)}${'-1 1:1\n'.repeat(30)}`
    const watch = watching(file('test.svm', examples), { positiveLabel: 1 })
    expect(await watch.look(1)).toMatchObject({ fadedMse: expect.closeTo(0.25), count: 120 })
  })

  it('is measured at the next look where it failed', async () => {
    const watch = watching(file('test.csv', fives(120)))
    delete scores[1]
    await expect(watch.look(1)).rejects.toThrow('restoring')
    scores[1] = 3
    expect(await watch.look(1)).toMatchObject({ fadedMse: 4 })
  })

  it('is refused for a set that no trigger would heed', async () => {
    await expect(watching(file('test.csv', fives(99))).look(1)).rejects.toMatchObject({
      code: 'EMPTY_DATASET',
      message: expect.stringContaining('has 99 observations'),
    })
  })
})
