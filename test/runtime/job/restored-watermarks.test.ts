import { describe, expect, it } from 'vitest'
import { GeneratorSource } from '../../../src/connectors/memory/generator-source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { MIN_TIMESTAMP } from '../../../src/core/time.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { StreamGraph } from '../../../src/dataflow/stream-graph.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { checkpointFolder, QUICK_RESTARTS } from '../job-fixture.ts'

const RECORDS = 600

/** Emits each record and the watermark that its function sees. */
function graphOf(sink: MemorySink<readonly [number, number]>): StreamGraph {
  const env = new StreamExecutionEnvironment({ parallelism: 1 })
  const source = new GeneratorSource<number>({
    countPerPartition: RECORDS,
    generate: (index) => index,
    ratePerSecond: 4 * RECORDS,
  })
  env
    .fromSource(source, boundedOutOfOrderness(5, { timestampOf: (n) => n }), 'numbers')
    .uid('numbers')
    .keyBy(() => 'all')
    .process<readonly [number, number]>(() => {
      let last: ValueState<number>
      return {
        open(context) {
          last = context.getState(valueState<number>('last'))
        },
        processElement(n, context, out) {
          last.update(n)
          out.collect([n, context.timerService.currentWatermark])
        },
      }
    })
    .uid('watermarks')
    .sinkTo(sink)
    .uid('sink')
  return env.graph('watermarks')
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the watermark of an operator with keyed state', () => {
  it('does not begin again when a slot is killed', async () => {
    using folder = checkpointFolder()
    await using cluster = new MiniCluster({
      configuration: {
        ...QUICK_RESTARTS,
        'execution.checkpointing.dir': folder.path,
        'execution.checkpointing.interval': '10 ms',
      },
    })
    const sink = new MemorySink<readonly [number, number]>('exactly-once')
    const job = cluster.startLocal(graphOf(sink))
    while (sink.values.every(([, watermark]) => watermark === MIN_TIMESTAMP)) await turn()
    job.killSlot(0)
    await job.result
    expect(job.attempt).toBeGreaterThan(1)
    expect(sink.values.map(([n]) => n)).toEqual(Array.from({ length: RECORDS }, (_, n) => n))
    const watermarks = sink.values.map(([, watermark]) => watermark)
    expect(watermarks).toEqual(watermarks.toSorted((a, b) => a - b))
  })
})
