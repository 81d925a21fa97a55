/**
 * Three ways to test a job, from small to large: one operator under a harness with a manual clock, its
 * snapshot restored, and a whole job on a cluster with a slot that is killed. In your own project these
 * are the bodies of tests; here they check with node:assert. Run it with
 *
 *   npx node examples/06-testing-a-job/main.ts
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  GeneratorSource,
  MemorySink,
  noWatermarks,
  StreamExecutionEnvironment,
  stringSerializer,
} from '../../src/index.ts'
import { KeyedProcessOperator, MiniCluster, OperatorHarness } from '../../src/testing/index.ts'
import { CountVisits } from './count-visits.ts'

const open = (restore: Awaited<ReturnType<OperatorHarness['snapshot']>>[] = []) =>
  OperatorHarness.open<string, string>({
    operator: new KeyedProcessOperator(new CountVisits(), stringSerializer, false),
    keys: { selectors: [(user: string) => user], serializer: stringSerializer },
    restore,
  })

// 1. OperatorHarness and ManualClock: no threads, no waiting; the test decides when timers fire.
const harness = await open()
harness.process('ann')
harness.process('ben')
harness.advanceTime(20_000)
harness.process('ann')
harness.advanceTime(20_000)
assert.deepEqual(harness.take(), ['ben: 1 visits'])
console.log('harness: silence of 30 s is seen for ben, not yet for ann')

// 2. A snapshot restored into a new operator, as after a restart.
const restored = await open([await harness.snapshot()])
restored.process('ann')
restored.advanceTime(30_000)
assert.deepEqual(restored.take(), ['ann: 3 visits'])
console.log('snapshot: the count of ann continues after a restore')

// 3. MiniCluster: the whole job, with a slot killed while it runs.
const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const numbers = new MemorySink<number>('exactly-once')
const env = new StreamExecutionEnvironment({ parallelism: 2 })
env
  .fromSource(
    new GeneratorSource({ generate: (i) => i, countPerPartition: 2000, ratePerSecond: 2000 }),
    noWatermarks<number>(),
    'Numbers',
  )
  .uid('numbers')
  .keyBy((number) => number % 10)
  .process(() => ({ processElement: (number, _, out) => out.collect(number) }))
  .uid('pass-on')
  .sinkTo(numbers)

await using cluster = new MiniCluster({
  configuration: {
    'execution.checkpointing.dir': join(folder, 'checkpoints'),
    'execution.checkpointing.interval': '20 ms',
    'restart-strategy.type': 'fixed-delay',
    'restart-strategy.fixed-delay.delay': '1 ms',
  },
})
const job = cluster.startLocal(env.graph('numbers'))
await job.waitFor('RUNNING')
// A checkpoint has committed some of the numbers, and others are still to come.
while (numbers.values.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
job.killSlot(1)
await job.result
await rm(folder, { recursive: true })
assert.equal(job.attempt, 2)
assert.deepEqual(
  numbers.values.toSorted((a, b) => a - b),
  Array.from({ length: 2000 }, (_, i) => i),
)
console.log(`cluster: ${numbers.values.length} numbers, each once, in ${job.attempt} attempts`)
