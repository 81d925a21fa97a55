import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import {
  type ErrorSource,
  LiveErrorWatch,
  type UnreadableRecords,
} from '../../../src/jobs/retrain/error-watch.ts'
import { NO_ALARMS } from '../../../src/models/quality/drift-monitor.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'

let folder: string
let topics: LogTopics
/** What the job answers for LEARNING_ERROR: a record, none for the version, or no such state. */
let answer: object | 'UNKNOWN_KEY' | 'UNKNOWN_STATE'
let sources: ErrorSource[]
let unreadable: UnreadableRecords[]

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-watch-'))
  topics = new LogTopics(join(folder, 'log'))
  await topics.create('ratings', { partitions: 1 })
  sources = []
  unreadable = []
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** A job that predicts 3 for each pair. */
const reader = {
  values: async () => {
    if (answer === 'UNKNOWN_STATE') throw new WeirError('UNKNOWN_STATE', 'no such state')
    if (answer === 'UNKNOWN_KEY')
      return [{ ok: false, error: new WeirError(answer, 'no such key') }]
    const writer = new ByteWriter()
    msgpackSerializer<object>().write(answer, writer)
    return [{ ok: true, value: writer.toBytes() }]
  },
  predict: async () => ({ score: 3, leftCold: false, rightCold: false }),
} as unknown as ModelReader

function watch(): LiveErrorWatch {
  return new LiveErrorWatch({
    reader,
    place: { logDirectory: join(folder, 'log') },
    observations: 'ratings',
    state: 'ALS_MODEL',
    clock: systemClock,
    onSource: (source) => sources.push(source),
    onUnreadable: (records) => unreadable.push(records),
  })
}

async function produce(...lines: readonly string[]): Promise<void> {
  const producer = await topics.producer('ratings')
  for (const line of lines) producer.sendRecord(null, Buffer.from(line), 0, 0, [])
  await producer.sync()
  await producer.close()
}

it('the error of a linear model that learns is that of its labels', async () => {
  const figures = { examples: 812, fadedAccuracy: 0.75, startAccuracy: 0.5, alarms: NO_ALARMS }
  answer = { version: 1, ...figures, slots: [] }
  expect(await watch().look(1)).toEqual({
    fadedMse: 0.25,
    startMse: 0.5,
    count: 812,
    alarms: NO_ALARMS,
  })
  expect(sources).toEqual([{ kind: 'reported', version: 1, count: 812 }])
})

it('where no job learns, new observations are predicted; those that are none are reported', async () => {
  answer = 'UNKNOWN_STATE'
  const watched = watch()
  await produce('1,2,5')
  expect(await watched.look(1)).toBeUndefined()
  await produce('1,2,5', 'none', '1,2,4', 'neither')
  expect(await watched.look(1)).toMatchObject({ count: 2 })
  expect(sources).toEqual([{ kind: 'predicted', version: 1 }])
  expect(unreadable).toEqual([{ count: 2, partition: 0, offset: 2, reason: expect.anything() }])
})

it('a job that begins to learn is asked, and what it has learned is not predicted afterwards', async () => {
  answer = 'UNKNOWN_STATE'
  const watched = watch()
  await watched.look(1)
  await produce('1,2,5')
  expect(await watched.look(1)).toMatchObject({ count: 1 })
  answer = 'UNKNOWN_KEY'
  await produce('1,2,4', '1,2,4')
  expect(await watched.look(1)).toBeUndefined()
  answer = { version: 1, ratings: 9, fadedMse: 2, slots: [] }
  expect(await watched.look(1)).toMatchObject({ count: 9, fadedMse: 2 })
  answer = 'UNKNOWN_STATE'
  expect(await watched.look(1)).toMatchObject({ count: 1 })
  expect(sources.map(({ kind }) => kind)).toEqual(['predicted', 'awaited', 'reported', 'predicted'])
})
