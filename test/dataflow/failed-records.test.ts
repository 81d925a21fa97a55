import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../src/connectors/memory/source.ts'
import { WeirError } from '../../src/core/errors.ts'
import { AsyncDataStream } from '../../src/dataflow/async/data-stream.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { FailedRecord, JobErrorPolicy } from '../../src/operators/port/failed-record.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { until } from '../run/until.ts'

const FAILED = new OutputTag<FailedRecord<string>>('failed')

/** Lines of two partitions, one of which is no number, in one subtask. */
function lines() {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new MemorySource([['1', 'x', '2'], ['3']], { bounded: false })
  return { env, lines: env.fromSource(source).uid('lines') }
}

function number(line: string): number {
  if (line === 'x') throw new RangeError(`${line} is no number`)
  return Number(line)
}

/** Runs a job; resolves with its results, the records that failed, and its metrics. */
async function run<T>(build: (lines: DataStream<string>) => DataStream<T>, readsFailures = false) {
  await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
  const given = lines()
  const [results, failed] = [new MemorySink<T>(), new MemorySink<FailedRecord<string>>()]
  const parsed = build(given.lines)
  parsed.sinkTo(results)
  if (readsFailures) parsed.getSideOutput(FAILED).sinkTo(failed)
  const job = cluster.startLocal(given.env.graph('lines'))
  const read = until('all records are read', () => results.values.length === 3)
  await Promise.race([read, job.result])
  const metrics = Object.entries(await job.metrics())
  const counted = metrics.find(([name]) => name.endsWith('numRecordsFailed'))?.[1]
  return { results: results.values.toSorted(), failed: failed.values, counted }
}

describe('a record at which a function throws', () => {
  it('is left out and counted with onError("skip"), in a chain and behind keyBy', async () => {
    const chained = await run((stream) => stream.map(number).onError('skip'))
    expect(chained).toMatchObject({ results: [1, 2, 3], counted: 1 })
    const keyed = await run((stream) =>
      stream
        .keyBy((line) => line)
        .process<number>(() => ({
          processElement: (line, _context, out) => out.collect(number(line)),
        }))
        .onError('skip'),
    )
    expect(keyed).toMatchObject({ results: [1, 2, 3], counted: 1 })
  })

  it('goes to a side output with its value, its origin and the error', async () => {
    const { results, failed } = await run(
      (stream) => stream.map(number).uid('parse').onError(FAILED),
      true,
    )
    expect(results).toEqual([1, 2, 3])
    expect(failed).toEqual([
      {
        value: 'x',
        operator: 'parse',
        origin: { source: 0, partition: 0, offset: 1 },
        error: {
          name: 'RangeError',
          message: 'x is no number',
          stack: expect.stringContaining('failed-records.test.ts'),
        },
      },
    ])
  })

  it('ends the job without a policy, and where an operator behind the one with a policy throws', async () => {
    await expect(run((stream) => stream.map(number))).rejects.toThrow('x is no number')
    const behind = run((stream) =>
      stream
        .map((line) => line)
        .onError('skip')
        .map(number),
    )
    await expect(behind).rejects.toThrow('x is no number')
  })

  it('ends the attempt with an error that a restart heals', async () => {
    const away = new WeirError('CONNECTOR_FAILED', 'the service is away')
    const failing = run((stream) =>
      stream
        .map((line) => {
          if (line === 'x') throw away
          return line
        })
        .onError('skip'),
    )
    await expect(failing).rejects.toThrow('the service is away')
  })
})

describe('the policy of a job for records at which functions throw', () => {
  /** Runs a job that parses, doubles and counts lines; resolves with its results and its dead letters. */
  async function runWith(
    policy: (letters: MemorySink<FailedRecord<unknown>>) => JobErrorPolicy,
    build: (numbers: DataStream<number>) => DataStream<number> = (numbers) => numbers,
  ) {
    await using cluster = new MiniCluster({ configuration: { 'restart-strategy.type': 'none' } })
    const given = lines()
    const [results, letters] = [new MemorySink<number>(), new MemorySink<FailedRecord<unknown>>()]
    given.env.onError(policy(letters))
    const doubled = given.lines
      .map(number)
      .uid('parse')
      .keyBy((value) => value)
      .process<number>(() => ({
        processElement(value, _context, out) {
          if (value === 2) throw new TypeError('no two')
          out.collect(2 * value)
        },
      }))
      .uid('double')
    build(doubled).sinkTo(results)
    const job = given.env.graph('lines')
    const running = cluster.startLocal(job)
    const done = until('all records are read', () => results.values.length === 2)
    await Promise.race([done, running.result])
    if (typeof policy(letters) === 'object') {
      await until('both letters are written', () => letters.values.length === 2)
    }
    return { results: results.values.toSorted(), letters: letters.values }
  }

  it('holds for each operator that does not say it: they leave records out', async () => {
    expect((await runWith(() => 'skip')).results).toEqual([2, 6])
  })

  it('sends the records of all operators to one sink, with operator, key, origin and error', async () => {
    const { results, letters } = await runWith((deadLetters) => ({ deadLetters }))
    expect(results).toEqual([2, 6])
    const byOperator = letters.toSorted((a, b) => (a.operator < b.operator ? -1 : 1))
    expect(byOperator).toEqual([
      {
        value: 2,
        operator: 'double',
        key: '2',
        origin: { source: 0, partition: 0, offset: 2 },
        error: {
          name: 'TypeError',
          message: 'no two',
          stack: expect.stringContaining('failed-records.test.ts'),
        },
      },
      {
        value: 'x',
        operator: 'parse',
        origin: { source: 0, partition: 0, offset: 1 },
        error: expect.objectContaining({ message: 'x is no number' }),
      },
    ])
  })

  it('gives way to that of an operator, and leaves asynchronous functions alone', async () => {
    const failing = runWith(
      () => 'skip',
      (numbers) =>
        numbers
          .map((value) => {
            if (value === 6) throw new Error('no six')
            return value
          })
          .onError('fail'),
    )
    await expect(failing).rejects.toThrow('no six')
    const waiting = await runWith(
      () => 'skip',
      (numbers) =>
        AsyncDataStream.orderedWait(numbers, () => ({
          asyncInvoke: async (value: number) => [value + 1],
        })),
    )
    expect(waiting.results).toEqual([3, 7])
  })

  it.each([['skipp'], [undefined], [{ deadLetters: 'letters' }], [null]])('is not %j', (policy) => {
    expect(() => lines().env.onError(policy as 'skip')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  it('has a sink whose uid no operator may have', () => {
    const given = lines()
    given.env.onError({ deadLetters: new MemorySink() })
    given.lines.map(number).uid('dead-letters').sinkTo(new MemorySink())
    expect(() => given.env.graph('lines')).toThrow(/"dead-letters" of the dead letters of the job/)
  })
})

describe('onError', () => {
  it.each([['skipp'], [undefined], [{ id: 5 }]])('refuses %j', (policy) => {
    expect(() =>
      lines()
        .lines.map(number)
        .onError(policy as 'skip'),
    ).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('refuses a side output that no operator reads', () => {
    const { env, lines: stream } = lines()
    stream.map(number).onError(FAILED).sinkTo(new MemorySink())
    expect(() => env.graph('lines')).toThrow(/whose side output no operator reads/)
  })

  it('refuses an asynchronous function, which handles its own errors', async () => {
    await expect(
      run((stream) =>
        AsyncDataStream.orderedWait(
          stream,
          () => ({ asyncInvoke: async (line: string) => [number(line)] }),
          { capacity: 1 },
        ).onError('skip'),
      ),
    ).rejects.toThrow(/catch errors in asyncInvoke/)
  })
})
