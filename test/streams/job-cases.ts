import { MemorySink } from '../../src/connectors/memory/sink.ts'
import type { Random } from '../../src/core/random.ts'
import { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../src/dataflow/watermark-strategy.ts'
import { tumblingEventTimeWindows } from '../../src/operators/windows/assigner.ts'
import { LocalExecutor } from '../../src/runtime/job/local-executor.ts'
import { type Difference, differenceOf } from './difference.ts'
import { type Reading, randomReduce } from './random-functions.ts'

const SIZE = 50
/** Records come in the order of their times. */
const BOUND = 0

/** A reduce in tumbling windows as a whole job, in which senders fold what is declared, and a second branch of its stream. */
export async function jobCase(random: Random): Promise<Difference> {
  const kind = randomReduce(random)
  const isDeclared = kind.isAssociative && random.below(2) === 0
  const readings = Array.from({ length: 20 + random.below(400) }, (_, i): Reading => {
    return { key: `key-${random.below(4)}`, time: i, value: random.below(100) }
  })
  const executor = new LocalExecutor()
  const env = new StreamExecutionEnvironment({ executor, parallelism: 1 + random.below(2) })
  const strategy = boundedOutOfOrderness<Reading>(BOUND, { timestampOf: ({ time }) => time })
  const sink = new MemorySink<string>()
  const source = env.fromElements(
    readings.map((reading) => ({ ...reading })),
    strategy,
  )
  // A branch that changes its records.
  const branch = source.map((reading) => {
    reading.value = -1
    return `branch ${reading.time}`
  })
  source
    .keyBy(({ key }) => key)
    .window(tumblingEventTimeWindows(SIZE))
    .reduce(kind.create(), isDeclared ? { associative: true } : {})
    .map(({ key, value }) => `${key}: ${value}`)
    .union(branch)
    .sinkTo(sink)
  await env.execute('a reduce at random')
  const branched = readings.map(({ time }) => `branch ${time}`)
  return differenceOf(sink.values, [...foldedOf(readings, kind.create()), ...branched])
}

function foldedOf(
  readings: readonly Reading[],
  reduce: (a: Reading, b: Reading) => Reading,
): string[] {
  const sums = new Map<string, Reading>()
  for (const reading of readings) {
    const window = `${reading.key} ${Math.floor(reading.time / SIZE)}`
    const sum = sums.get(window)
    const next = sum === undefined ? reading : reduce({ ...sum }, { ...reading })
    sums.set(window, { ...next })
  }
  return [...sums.values()].map(({ key, value }) => `${key}: ${value}`)
}
