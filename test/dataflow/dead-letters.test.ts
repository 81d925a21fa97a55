import { expect, it } from 'vitest'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { LogSink } from '../../src/connectors/log/sink.ts'
import { LogSource } from '../../src/connectors/log/source.ts'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { serializeFailedRecord } from '../../src/connectors/records/failed-record-serializer.ts'
import { deserializeValue } from '../../src/connectors/records/value-deserializer.ts'
import { openTopics } from '../../src/connectors/topics/open.ts'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import { jsonFormat } from '../../src/core/formats/json.ts'
import { stringSerializer } from '../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { checkpointFolder } from '../runtime/job-fixture.ts'

const PAGES = ['home', 'x', 'docs', 'x', 'news', 'two', 'home', 'two']

it('the records that fail in the operators of a job are in its topic of dead letters once, with where they come from', async () => {
  using folder = checkpointFolder()
  const directory = `${folder.path}/log`
  const log = await EmbeddedLog.open(directory)
  await log.createTopic('clicks', { partitions: 2 })
  await log.createTopic('letters', { partitions: 1 })
  const producer = log.producer('clicks')
  for (const [i, page] of PAGES.entries()) {
    producer.send(null, Buffer.from(page), 1, { partition: i % 2 })
  }
  await producer.sync()
  await log.close()

  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const serialize = serializeFailedRecord(jsonFormat())
  const letters = { directory, topic: 'letters', guarantee: 'exactly-once', serialize } as const
  env.onError({ deadLetters: new LogSink(letters) })
  const deserialize = deserializeValue(stringSerializer)
  const results = new MemorySink<string>()
  env
    .fromSource(new LogSource({ directory, topic: 'clicks', deserialize, bounded: true }))
    .uid('pages')
    .map((page) => {
      if (page === 'x') throw new SyntaxError('no page')
      return page
    })
    .uid('parse')
    .keyBy((page) => page)
    .process<string>(() => ({
      processElement(page, _context, out) {
        if (page === 'two') throw new RangeError('too many')
        out.collect(page)
      },
    }))
    .uid('count')
    .sinkTo(results)
  await using cluster = new MiniCluster({
    configuration: {
      'execution.checkpointing.dir': `${folder.path}/checkpoints`,
      'execution.checkpointing.interval': '50 ms',
    },
  })
  await cluster.startLocal(env.graph('letters')).result

  expect(results.values.toSorted()).toEqual(['docs', 'home', 'home', 'news'])
  const found: string[] = []
  await using topics = await openTopics({ logDirectory: directory })
  await scanTopic(topics, 'letters', (record) => {
    const text = (bytes: Uint8Array | null | undefined): string =>
      Buffer.from(bytes ?? []).toString()
    const headers = Object.fromEntries(record.headers().map(({ key, value }) => [key, text(value)]))
    expect(headers['weir-stack']).toContain('dead-letters.test.ts')
    const { 'weir-operator': operator, 'weir-origin': origin, 'weir-reason': reason } = headers
    found.push(`${text(record.key())} ${text(record.value())} ${operator} ${origin} ${reason}`)
    return true
  })
  expect(found.toSorted()).toEqual([
    ' "x" parse clicks/1/0 SyntaxError: no page',
    ' "x" parse clicks/1/1 SyntaxError: no page',
    'two "two" count clicks/1/2 RangeError: too many',
    'two "two" count clicks/1/3 RangeError: too many',
  ])
})
