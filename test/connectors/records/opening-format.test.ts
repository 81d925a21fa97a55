import { expect, it } from 'vitest'
import { LogSink } from '../../../src/connectors/log/sink.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import {
  FormatNotReady,
  type OpeningFormat,
  reported,
} from '../../../src/connectors/records/opening-format.ts'
import type { OutgoingRecord } from '../../../src/connectors/records/outgoing-record.ts'
import type { RecordDeserializer } from '../../../src/connectors/records/topic-record.ts'
import type { WeirError } from '../../../src/core/errors.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import { LocalExecutor } from '../../../src/runtime/job/local-executor.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import {
  bytes,
  drain,
  openLog,
  readAll,
  readerContext,
  temporaryFolder,
  text,
} from '../log/fixture.ts'

async function topicOf(...values: readonly string[]): Promise<string> {
  const directory = temporaryFolder()
  const log = await openLog(directory)
  await log.createTopic('t', { partitions: 2 })
  await log.createTopic('out')
  const producer = log.producer('t')
  for (const [n, value] of values.entries()) {
    producer.send(null, bytes(value), 1, { partition: n % 2 })
  }
  await producer.flush()
  return directory
}

/** A registry whose schemas come when a test says so. */
function registry() {
  const known = new Map<string, string>()
  const asked = new Map<string, PromiseWithResolvers<void>>()
  const deserialize: RecordDeserializer<string> = (record) => {
    const [id, value] = text(record.value()).split(':') as [string, string]
    const schema = known.get(id)
    if (schema !== undefined) return `${schema} ${value}`
    const wait = asked.get(id) ?? Promise.withResolvers<void>()
    asked.set(id, wait)
    throw new FormatNotReady(wait.promise)
  }
  const answer = (id: string, schema: string): void => {
    known.set(id, schema)
    asked.get(id)?.resolve()
  }
  return { deserialize, asked, answer }
}

it('formats of a source and a sink are opened before the first record, and closed at the end', async () => {
  const directory = await topicOf('a', 'b')
  const said: string[] = []
  const opening = <F>(name: string, opened: F): OpeningFormat<F> => ({
    async open({ subtask, parallelism }) {
      await new Promise((resolve) => setImmediate(resolve))
      said.push(`${name} opened ${subtask} of ${parallelism}`)
      return opened
    },
    close: () => void said.push(`${name} closed`),
  })
  const read: RecordDeserializer<string> = (record) => `${text(record.value())}!`
  const write = (value: string, record: OutgoingRecord): void => {
    record.value = bytes(value)
  }
  const env = new StreamExecutionEnvironment({ parallelism: 1, executor: new LocalExecutor() })
  env
    .fromSource(
      new LogSource({ directory, topic: 't', bounded: true, deserialize: opening('source', read) }),
      noWatermarks<string>(),
    )
    .sinkTo(new LogSink({ directory, topic: 'out', serialize: opening('sink', write) }))
  await env.execute('formats')
  const written = await readAll({ directory, topic: 'out' })
  expect(written.map((line) => line.split('=')[1]).sort()).toEqual(['a!', 'b!'])
  expect(said.toSorted()).toEqual([
    'sink closed',
    'sink opened 0 of 1',
    'source closed',
    'source opened 0 of 1',
  ])
})

it('a format that cannot be opened ends the job with its error', async () => {
  const directory = await topicOf('a')
  const env = new StreamExecutionEnvironment({ executor: new LocalExecutor() })
  const deserialize: OpeningFormat<RecordDeserializer<string>> = {
    open: () => Promise.reject(new Error('the registry refuses the token')),
  }
  env
    .fromSource(
      new LogSource({ directory, topic: 't', bounded: true, deserialize }),
      noWatermarks(),
    )
    .discard()
  const options = { 'restart-strategy.type': 'none' }
  await expect(env.execute('formats', options)).rejects.toThrow('the registry refuses the token')
})

it('a record whose schema is not there yet is read when it has come, before those behind it; other partitions go on', async () => {
  const directory = await topicOf('1:a', '2:b', '1:c', '2:d', '1:e')
  const { deserialize, asked, answer } = registry()
  answer('2', 'two')
  const reader = new LogSource({
    directory,
    topic: 't',
    deserialize,
    start: 'earliest',
  }).createReader()
  await reader.open(readerContext())
  await reader.addSplits([0, 1].map((partition) => ({ partition, nextOffset: -1 })))
  expect(await drain(reader, 2)).toEqual(['two b', 'two d'])
  expect([...asked.keys()]).toEqual(['1'])
  const ended: number[] = []
  reader.reportEnds!({ progress: (partition) => void ended.push(partition) })
  expect(ended).not.toContain(0)
  expect(reader.snapshot().map(({ nextOffset }) => nextOffset)).toEqual([0, 2])
  const rest = drain(reader, 3)
  answer('1', 'one')
  expect(await rest).toEqual(['one a', 'one c', 'one e'])
  await reader.close()
})

it('a record whose schema cannot be fetched is handled as one that cannot be decoded', async () => {
  const directory = await topicOf('1:a', '2:b')
  const failed = Promise.withResolvers<void>()
  let looks = 0
  const source = new LogSource<string>({
    directory,
    topic: 't',
    start: 'earliest',
    undecodable: 'skip',
    deserialize(record) {
      if (text(record.value()) === '2:b') return 'b'
      if (looks++ === 0) throw new FormatNotReady(failed.promise)
      throw new Error('no schema 1')
    },
  })
  const reader = source.createReader()
  const context = readerContext()
  await reader.open(context)
  await reader.addSplits([0, 1].map((partition) => ({ partition, nextOffset: -1 })))
  expect(await drain(reader, 1)).toEqual(['b'])
  failed.reject(new Error('404'))
  await reader.available()
  reader.poll({ collect: () => expect.unreachable(), progress() {} }, 9)
  expect(context.metrics.snapshot()['numRecordsUndecodable']).toBe(1)
  expect(looks).toBe(2)
  await reader.close()
})

it('a format that does not come is reported after five seconds, and when it has come', async () => {
  const clock = new ManualClock()
  const notices: WeirError[] = []
  const { promise, resolve } = Promise.withResolvers<number>()
  const wait = reported(promise, { clock, warn: (notice) => notices.push(notice) }, 'clicks/2')
  clock.advance(4_999)
  expect(notices).toEqual([])
  clock.advance(1)
  expect(notices.map(({ message }) => message)).toEqual([
    'waiting for the format of the records of clicks/2 for 5 s or more: the promise of the format has not settled; check what it fetches',
  ])
  resolve(7)
  expect(await wait).toBe(7)
  expect(notices[1]!.message).toBe('the format of the records of clicks/2 has come')
})
