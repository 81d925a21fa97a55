import { expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../../src/connectors/memory/source.ts'
import { deserializeValue } from '../../../src/connectors/records/value-deserializer.ts'
import { stringSerializer } from '../../../src/core/serializer.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder } from '../job-fixture.ts'

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error('no order', { cause: error })
  }
}

/** The key is that of the keyed operator that calls the function. */
const failedAt = (isKeyed: boolean): RegExp =>
  new RegExp(
    `operator Parse, task .* failed: no order \\(at parse, /.*user-error\\.test\\.ts:\\d+:11; at the record 1:2 of source orders; ${isKeyed ? 'key "{x"; ' : ''}caused by Expected property name`,
  )

it.each([true, false])(
  'an error of a function names its line, its record and its cause, and ends the job at the fifth attempt (behind keyBy: %s)',
  async (isKeyed) => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '10 ms',
        'restart-strategy.type': 'exponential-delay',
        'restart-strategy.exponential-delay.initial-backoff': '1 ms',
        'restart-strategy.exponential-delay.max-backoff': '1 ms',
      },
    })
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const source = new MemorySource([
      ['1', '2'],
      ['3', '4', '{x'],
    ])
    const lines = env.fromSource(source).uid('orders')
    const read = isKeyed
      ? lines
          .keyBy((line) => line)
          .process<string>(() => ({ processElement: (line, _context, out) => out.collect(line) }))
      : lines
    read.map(parse).name('Parse').sinkTo(new MemorySink())
    const job = cluster.startLocal(env.graph('orders'))
    const error = await job.result.catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(failedAt(isKeyed))
    expect(String(error)).toContain(
      '5 attempts in a row failed with this message at the record 1:2',
    )
    expect(job.attempt).toBe(5)
  },
)

it('an error at a record of a topic names the topic, and the key behind keyBy', async () => {
  using folder = checkpointFolder()
  const log = await EmbeddedLog.open(folder.path)
  await log.createTopic('clicks', { partitions: 1 })
  const producer = log.producer('clicks')
  for (const line of ['a', 'b']) producer.send(null, Buffer.from(line), 1)
  await producer.flush()
  await log.close()
  await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const deserialize = deserializeValue(stringSerializer)
  env
    .fromSource(new LogSource({ directory: folder.path, topic: 'clicks', deserialize }))
    .uid('pages')
    .keyBy((page) => ({ a: 1, b: 'bob' })[page]!)
    .process<string>(() => ({
      processElement(page) {
        if (page === 'b') throw new Error('no page')
      },
    }))
    .uid('visits')
    .sinkTo(new MemorySink())
  await expect(cluster.startLocal(env.graph('visits')).result).rejects.toThrow(
    /no page \(at .*user-error\.test\.ts:\d+:\d+; at the record 0:1 of source pages, topic clicks; key "bob"; event time 1970-01-01T00:00:00.001Z\)/,
  )
})

it.each(['record', 'timer', 'window'] as const)(
  'an error of a function at a %s names the key and the event time',
  async (kind) => {
    const env = new StreamExecutionEnvironment({ parallelism: 1 })
    const keyed = env
      .fromElements([1, 2, 3], boundedOutOfOrderness(0, { timestampOf: (n: number) => n * 60_000 }))
      .keyBy((n) => ['user', n])
    const fail = (): never => {
      throw new Error('no such user')
    }
    const failing =
      kind === 'window'
        ? keyed.window(tumblingEventTimeWindows(60_000)).process<number>(() => ({
            process: ([, n]) => (n === 2 ? fail() : undefined),
          }))
        : keyed.process<number>(() => ({
            processElement(n, { timerService, timestamp }) {
              if (kind === 'record' && n === 2) fail()
              if (kind === 'timer') timerService.registerEventTimeTimer(timestamp + 59_999)
            },
            onTimer: (_, { currentKey: [, n] }) => (n === 2 ? fail() : undefined),
          }))
    failing.discard()
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    const error: unknown = await cluster.run(env.graph('users')).catch((thrown) => thrown)
    const time = kind === 'record' ? '00:02:00.000' : '00:02:59.999'
    expect(String(error)).toContain(`key ["user",2]; event time 1970-01-01T${time}Z`)
  },
)
