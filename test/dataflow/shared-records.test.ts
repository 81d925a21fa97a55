import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { OutputTag } from '../../src/operators/port/output-tag.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'

interface Row {
  n: number
  inner: { n: number }
}

/** A record that no serializer brings back as it is. */
class Point {
  n: number
  inner: { n: number }
  readonly self: Point
  readonly bytes: Buffer

  constructor(n: number) {
    this.n = n
    this.inner = { n }
    this.self = this
    this.bytes = Buffer.from([n])
  }

  get twice(): number {
    return 2 * this.n
  }
}

const environment = (reuse: boolean): StreamExecutionEnvironment =>
  new StreamExecutionEnvironment({
    executor: new LocalExecutor({ 'pipeline.object-reuse': String(reuse) }),
  })

const spoil = <R extends Row>(row: R): R => {
  row.n += 100
  row.inner.n += 100
  return row
}
const seen = ({ n, inner }: Row): string => `${n} ${inner.n}`

/** What branches see that leave a stream beside one that changes its records. */
async function branches(
  open: (rows: DataStream<Row>) => readonly DataStream<string>[],
  reuse = false,
): Promise<string[][]> {
  const env = environment(reuse)
  const rows = env.fromElements([1, 2, 3]).map((n): Row => ({ n, inner: { n } }))
  const sinks = open(rows).map((branch) => {
    const sink = new MemorySink<string>()
    branch.sinkTo(sink)
    return sink
  })
  await env.execute('branches')
  return sinks.map(({ values }) => values.toSorted())
}

const WHOLE = ['1 1', '2 2', '3 3']
const SPOILT = ['101 101', '102 102', '103 103']

describe('two operators that read the same stream', () => {
  it('see no change that the other one makes, in either order', async () => {
    const spoiling = (rows: DataStream<Row>) => rows.map(spoil).map(seen)
    const reading = (rows: DataStream<Row>) => rows.map(seen)
    expect(await branches((rows) => [spoiling(rows), reading(rows)])).toEqual([SPOILT, WHOLE])
    expect(await branches((rows) => [reading(rows), spoiling(rows)])).toEqual([WHOLE, SPOILT])
    expect(await branches((rows) => [spoiling(rows), spoiling(rows), reading(rows)])).toEqual([
      SPOILT,
      SPOILT,
      WHOLE,
    ])
  })

  it('see none when only one of them is chained', async () => {
    const found = await branches((rows) => [
      rows.map(spoil).map(seen),
      rows.keyBy(({ n }) => n).map(seen),
      rows.rebalance().map(seen),
    ])
    expect(found).toEqual([SPOILT, WHOLE, WHOLE])
  })

  it('see none of a side output', async () => {
    const tag = new OutputTag<Row>('side')
    const found = await branches((rows) => {
      const side = rows
        .process<Row>(() => ({
          processElement: (row, context) => context.output(tag, row),
        }))
        .getSideOutput(tag)
      return [side.map(spoil).map(seen), side.map(seen)]
    })
    expect(found).toEqual([SPOILT, WHOLE])
  })

  it('share the record where objects are reused, as in Flink', async () => {
    const found = await branches((rows) => [rows.map(spoil).map(seen), rows.map(seen)], true)
    expect(found).toEqual([SPOILT, SPOILT])
  })

  it('get objects of a class as such', async () => {
    const env = environment(false)
    const points = env.fromElements([1, 2]).map((n) => new Point(n))
    const changed = new MemorySink<boolean>()
    const whole = new MemorySink<string>()
    points
      .map((point) => {
        point.bytes[0] = 0
        return spoil(point).self === point && point instanceof Point
      })
      .sinkTo(changed)
    points.map(({ twice, inner, bytes }) => `${twice} ${inner.n} ${bytes[0]}`).sinkTo(whole)
    await env.execute('classes')
    expect(changed.values).toEqual([true, true])
    expect(whole.values).toEqual(['2 1 1', '4 2 2'])
  })
})
