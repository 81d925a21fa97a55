import { afterAll, beforeAll, expect, it } from 'vitest'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import { boundedOutOfOrderness } from '../../../src/dataflow/watermark-strategy.ts'
import { count, lastN, sum } from '../../../src/operators/features/definition.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { inWindow, type Purchase } from '../../operators/features/plain-features.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { newTopic, produce, text } from '../kafka/fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const HOUR = 3_600_000
const USERS = 10
const PURCHASES = Array.from(
  { length: 600 },
  (_, n): Purchase => ({
    user: n % USERS,
    film: `f${(n * n) % 19}`,
    price: (n * 31) % 101,
    time: 19_700 * 24 * HOUR + n * 10 * 60_000 - (n % 7) * HOUR,
  }),
)

const definition = {
  purchases_1d: count().over('1d'),
  spent_7d: sum((purchase: Purchase) => purchase.price).over('7d'),
  last: lastN(2, (purchase: Purchase) => purchase.film).over('7d'),
}

/** What a list of the purchases before each one gives. */
function expectedLine({ user, time }: Purchase, n: number): string {
  const before = PURCHASES.slice(0, n).filter((one) => one.user === user)
  const at = Math.max(time, ...before.map((one) => one.time))
  return JSON.stringify({
    ...{ user, time },
    purchases_1d: inWindow(before, { windowMs: 24 * HOUR, tiles: 60 }, at).length,
    spent_7d: inWindow(before, { windowMs: 168 * HOUR, tiles: 60 }, at).reduce(
      (total, { price }) => total + price,
      0,
    ),
    last: before
      .toSorted((a, b) => a.time - b.time)
      .slice(-2)
      .map(({ film }) => film)
      .reverse(),
  })
}

it('features of a topic of a real Kafka are those of a list of its records', async () => {
  const client = { brokers: broker.bootstrap }
  const topic = await newTopic(client, { partitions: 2 })
  await produce(
    client,
    topic,
    PURCHASES.map((purchase) => `${purchase.user}=${JSON.stringify(purchase)}`),
  )
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const sink = new MemorySink<string>()
  env
    .fromSource(KafkaSource.raw({ ...client, topic, bounded: true }))
    .map(({ value }) => JSON.parse(text(value)) as Purchase)
    .assignTimestampsAndWatermarks(
      boundedOutOfOrderness<Purchase>(7 * HOUR, { timestampOf: ({ time }) => time }),
    )
    .keyBy(({ user }) => user)
    .features(definition)
    .join(({ user, time }, features) => JSON.stringify({ user, time, ...features }))
    .sinkTo(sink)
  await using cluster = new MiniCluster()
  await cluster.run(env.graph('features'))
  expect(sink.values.toSorted()).toEqual(PURCHASES.map(expectedLine).sort())
})
