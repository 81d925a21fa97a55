import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ByteWriter } from '../../src/core/byte-writer.ts'
import { systemClock } from '../../src/core/clock.ts'
import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import { keyGroupOf } from '../../src/core/key-group.ts'
import { seededRandom } from '../../src/core/random.ts'
import {
  count,
  distinct,
  lastN,
  mean,
  quantile,
  sum,
} from '../../src/operators/features/definition.ts'
import { FeaturesOperator } from '../../src/operators/features/operator.ts'
import { FeaturePlan } from '../../src/operators/features/plan.ts'
import { AbstractOperator } from '../../src/operators/port/abstract-operator.ts'
import type { OperatorContext, StreamOperator } from '../../src/operators/port/operator.ts'
import { listState } from '../../src/state/port/descriptors.ts'
import type { LiveListState } from '../../src/state/port/handles.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { quantile as quantileOf, rounded } from '../load/statistics.ts'

const USERS = 1_000_000
const MAX_PARALLELISM = 128
const READS = 20_000
const START = 20_000 * 86_400_000
const HOUR = 3_600_000
const WINDOWS = [
  { name: '1h', ms: HOUR },
  { name: '24h', ms: 24 * HOUR },
  { name: '7d', ms: 168 * HOUR },
] as const
/** Events of a user, of which the last half is in the window. */
const EVENTS = 40

interface Purchase {
  readonly user: number
  readonly film: number
  readonly price: number
  readonly time: number
}

/** The six features of the benchmark, over one window. */
const definitionOf = (window: string) => ({
  purchases: count().over(window),
  spent: sum((event: Purchase) => event.price).over(window),
  mean: mean((event: Purchase) => event.price).over(window),
  films: distinct((event: Purchase) => event.film).over(window),
  p90: quantile(0.9, (event: Purchase) => event.price).over(window),
  last: lastN(5, (event: Purchase) => event.film).over(window),
})

/** What is written without features: a list of the events of each key, which a read folds. */
class ListOperator extends AbstractOperator {
  events!: LiveListState<Purchase>
  private readonly windowMs: number

  constructor(windowMs: number) {
    super()
    this.windowMs = windowMs
  }

  override open(context: OperatorContext): void {
    this.events = context.keyedState!.liveList(listState<Purchase>('events'))
  }

  processElement(_input: number, value: unknown): void {
    this.events.append(value as Purchase)
  }

  /** The features of the current key. */
  read(at: number): unknown {
    const events = this.events.get().filter(({ time }) => time >= at - this.windowMs)
    const prices = events.map(({ price }) => price).sort((a, b) => a - b)
    const spent = prices.reduce((a, b) => a + b, 0)
    return {
      ...{ purchases: events.length, spent, mean: spent / events.length },
      films: new Set(events.map(({ film }) => film)).size,
      p90: prices[Math.floor(0.9 * (prices.length - 1))],
      last: events.slice(-5).map(({ film }) => film),
    }
  }
}

/** What one way takes. */
interface Costs {
  readonly bytes: number
  readonly updateUs: number
  readonly readUs: number
}

/** Feeds users with events that spread over a window, then reads some. `read` answers for the key that is selected. */
async function measure(
  { users, windowMs }: { readonly users: number; readonly windowMs: number },
  operator: StreamOperator,
  read: (harness: OperatorHarness, key: Uint8Array, at: number) => unknown,
): Promise<Costs> {
  const random = seededRandom(7)
  const harness = await OperatorHarness.open({
    operator,
    keys: { selectors: [({ user }: Purchase) => user], serializer: plainKeySerializer() },
    maxParallelism: MAX_PARALLELISM,
  })
  const state = harness.keyedState!
  const writer = new ByteWriter(16)
  const select = (user: number): Uint8Array => {
    writer.reset()
    plainKeySerializer<number>().write(user, writer)
    const key = writer.bytes.subarray(0, writer.length)
    state.setCurrentKey(key, keyGroupOf(key, MAX_PARALLELISM))
    return key
  }
  const before = heldBytes()
  const start = process.cpuUsage()
  for (let event = 0; event < EVENTS; event++) {
    for (let user = 0; user < users; user++) {
      const time = START + Math.floor((2 * (event + random.next()) * windowMs) / EVENTS)
      select(user)
      const purchase = { user, film: random.below(1_000), price: random.below(10_000) / 100, time }
      operator.processElement(0, purchase, time)
    }
  }
  const { user: inUser, system } = process.cpuUsage(start)
  const updateUs = (inUser + system) / (users * EVENTS)
  const bytes = (heldBytes() - before) / users
  const times = new Float64Array(READS)
  for (let n = 0; n < READS; n++) {
    const key = select(random.below(users)).slice()
    const from = systemClock.monotonicMs()
    read(harness, key, START + 2 * windowMs)
    times[n] = (systemClock.monotonicMs() - from) * 1000
  }
  state.close()
  return { bytes, updateUs, readUs: quantileOf(times.sort(), 0.5) }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that are held in the heap and in arrays outside of it. */
function heldBytes(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

async function run(scale: number): Promise<readonly Figure[]> {
  const users = Math.max(100, Math.round(USERS * scale))
  const figures: Figure[] = []
  for (const { name, ms } of WINDOWS) {
    const shape = { users, windowMs: ms }
    const plan = () =>
      new FeaturePlan<Purchase, ReturnType<typeof definitionOf>>(definitionOf(name))
    const view = { queryableName: 'u', as: 'row', missing: 0, readAt: 'event-time' } as const
    const features = await measure(
      shape,
      new FeaturesOperator({ plan, view }, true),
      (harness, key) =>
        harness.keyedState!.answer({ kind: 'values', id: 1, queryableName: 'u', keys: [key] }),
    )
    const list = new ListOperator(ms)
    const events = await measure(shape, list, (_harness, _key, at) => list.read(at))
    const beside = (part: string, unit: string, own: number, rival: number): Figure => ({
      name: `table-features-${name}-${part}`,
      ...{ value: rounded(own), unit, higher: false },
      ...{ rival: rounded(rival), rivalName: 'list of events' },
      details: { users, events: EVENTS, mostBytesOfRow: plan().mostBytes },
    })
    figures.push(
      beside('bytes', 'bytes a user', features.bytes, events.bytes),
      beside('update', 'CPU us an event', features.updateUs, events.updateUs),
      beside('read', 'us (p50)', features.readUs, events.readUs),
    )
  }
  return figures
}

/** Features of users beside a list of their events. */
export const featuresBenchmark: Benchmark = {
  name: 'table-features',
  summary: 'six features of 1 M users over 1 h, 24 h and 7 d: bytes a user, update, read',
  run: ({ scale }) => run(scale),
}
