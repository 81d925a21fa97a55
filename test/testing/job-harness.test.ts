import { describe, expect, it } from 'vitest'
import { MemorySink } from '../../src/connectors/memory/sink.ts'
import { MemorySource } from '../../src/connectors/memory/source.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { JobHarness } from '../../src/testing/job-harness.ts'
import type { TimedEvent } from '../../src/testing/timed-events.ts'

interface Order {
  readonly id: number
}

/** Two sources of orders, of which the sums of both sides of a window come out. */
function twoSources(): StreamGraph {
  const env = new StreamExecutionEnvironment({ jobName: 'orders' })
  const read = (uid: string) =>
    env
      .fromSource(new MemorySource<Order>([[]]), boundedOutOfOrderness(1_000_000), `Read ${uid}`)
      .uid(uid)
  read('orders')
    .join(read('returns'))
    .where(({ id }) => id)
    .equalTo(({ id }) => id)
    .window(tumblingEventTimeWindows(10))
    .apply((a, b) => a.id + b.id)
    .sinkTo(new MemorySink<number>())
    .uid('sums')
  return env.graph()
}

describe('JobHarness', () => {
  it('has tables as the test feeds them, and they hold no watermark back', async () => {
    const env = new StreamExecutionEnvironment({ jobName: 'orders' })
    const names = env.table(new MemorySource<readonly [number, string]>([[]]), {
      keyOf: ([id]) => id,
      rowOf: ([, name]) => name,
      name: 'names',
    })
    env
      .fromSource(new MemorySource<Order>([[]]), boundedOutOfOrderness(1_000_000), 'orders')
      .joinTable(
        names,
        ({ id }) => id,
        (_, name) => name,
      )
      .keyBy((name) => name)
      .window(tumblingEventTimeWindows(10))
      .apply<string>((name, _, elements, out) => out.collect(`${name} ${elements.length}`))
      .sinkTo(new MemorySink<string>())
      .uid('counts')
    const harness = await JobHarness.open(env.graph())
    await harness.feed({ value: { id: 1 }, timestamp: 1, source: 'orders' })
    await harness.feed({ value: [1, 'ann'], source: 'Table source' })
    await harness.feed({ value: { id: 1 }, timestamp: 2, source: 'orders' })
    await harness.feed({ watermark: 50, source: 'orders' })
    expect(harness.results().get('counts')).toMatchObject([{ value: 'ann 1' }])
    await harness.close()
  })

  it('feeds sources by uid or name, and moves their watermarks', async () => {
    const harness = await JobHarness.open(twoSources())
    const results = () =>
      harness
        .results()
        .get('sums')!
        .map(({ value }) => value)
    await harness.feed({ value: { id: 4 }, timestamp: 1, source: 'orders' })
    await harness.feed({ value: { id: 4 }, timestamp: 2, source: 'Read returns' })
    await harness.feed({ watermark: 50, source: 'orders' })
    expect(results()).toEqual([])
    await harness.feed({ watermark: 9, source: 'returns' })
    expect(results()).toEqual([8])
    await harness.feed({ value: { id: 5 }, timestamp: 60, source: 'orders' })
    await harness.feed({ value: { id: 5 }, timestamp: 60, source: 'returns' })
    const snapshot = await harness.checkpoint(1)
    await harness.endInput()
    expect(results()).toEqual([8, 10])
    await harness.close()
    const restored = await JobHarness.open(twoSources(), { restore: snapshot })
    await restored.endInput()
    expect(
      restored
        .results()
        .get('sums')!
        .map(({ value }) => value),
    ).toEqual([10])
    await restored.close()
  })

  it.each<[TimedEvent, string]>([
    [{ value: 1 }, 'event 1 names no source, and the job has "orders", "returns"'],
    [{ value: 1, source: 'order' }, 'did you mean "orders"?'],
    [{ clock: -1 }, 'event 1 sets the clock back to -1'],
    [{ valeu: 1 } as never, 'event 1 has neither value nor watermark nor clock'],
  ])('refuses %o', async (event, message) => {
    const harness = await JobHarness.open(twoSources())
    await expect(harness.feed(event)).rejects.toThrow(message)
    await harness.close()
  })
})
