/**
 * kafkajs, which shares no code with Weir, writes the ratings and reads the results. The example needs
 * a Kafka broker (`docker compose up kafka`). Run it with
 *
 *   npx node examples/07-feed-ratings-kafkajs/main.ts localhost:9092
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel, type Message, Partitioners } from 'kafkajs'
import { KafkaSink, KafkaSource } from '../../src/connectors/kafka/index.ts'
import {
  deserializeValue,
  generateRatings,
  jsonFormat,
  type KeyedFunctionContext,
  type KeyedProcessFunction,
  LocalExecutor,
  type Rating,
  ratingLineFormat,
  StreamExecutionEnvironment,
  serializeValue,
  type ValueState,
  valueState,
} from '../../src/index.ts'

const brokers = process.argv[2] ?? 'localhost:9092'
const [RATINGS, MEANS] = [`ratings-${Date.now()}`, `means-${Date.now()}`]
const ITEMS = 20

const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING })
const admin = kafka.admin()

/** A rating in the form of the quickstart's observations topic: key the user, value `user,item,rating`. */
const messageOf = ({ user, item, rating }: Rating): Message => ({
  key: user,
  value: `${user},${item},${rating}`,
})

/** Writes two transactions; read_committed readers see only the first one. */
async function feed(): Promise<number> {
  const producer = kafka.producer({
    transactionalId: `feed-${Date.now()}`,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  const ratings = [...generateRatings({ users: 300, items: ITEMS, ratings: 5000, seed: 7 })]
  const kept = await producer.transaction()
  await kept.send({ topic: RATINGS, messages: ratings.map(messageOf) })
  await kept.commit()
  const dropped = await producer.transaction()
  const noise = ratings.slice(0, 500).map((rating) => ({ ...rating, rating: 1000 }))
  await dropped.send({ topic: RATINGS, messages: noise.map(messageOf) })
  await dropped.abort()
  await producer.disconnect()
  return ratings.length
}

interface Mean {
  readonly item: string
  readonly count: number
  readonly mean: number
}

/** Counts and sums the ratings of each item. */
const meanOfItem = (): KeyedProcessFunction<string, Rating, Mean> => {
  let sums: ValueState<readonly [count: number, sum: number]>
  return {
    open(context: KeyedFunctionContext) {
      sums = context.getState(valueState<readonly [number, number]>('sums'))
    },
    processElement({ item, rating }, _, out) {
      const [count, sum] = sums.value() ?? [0, 0]
      sums.update([count + 1, sum + rating])
      out.collect({ item, count: count + 1, mean: (sum + rating) / (count + 1) })
    },
  }
}

/** Weir: from Kafka, by item, to Kafka, each result exactly once. */
async function computeMeans(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
  const env = new StreamExecutionEnvironment({
    executor: new LocalExecutor({
      'state.backend.type': 'heap',
      'execution.checkpointing.dir': folder,
      'execution.checkpointing.interval': '100 ms',
    }),
  })
  const deserialize = deserializeValue(ratingLineFormat())
  env
    .fromSource(new KafkaSource({ brokers, topic: RATINGS, bounded: true, deserialize }))
    .uid('ratings')
    .keyBy(({ item }) => item)
    .process(meanOfItem)
    .uid('means')
    .sinkTo(
      new KafkaSink<Mean>({
        brokers,
        topic: MEANS,
        guarantee: 'exactly-once',
        serialize: serializeValue(jsonFormat<Mean>(), { keyOf: ({ item }) => item }),
      }),
    )
    .uid('sink')
  await env.execute('item-means')
  await rm(folder, { recursive: true })
}

/** The last mean of each item, as kafkajs reads the committed records. */
async function readMeans(expected: number): Promise<Mean[]> {
  const consumer = kafka.consumer({ groupId: `means-${Date.now()}`, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topic: MEANS, fromBeginning: true })
  const means = new Map<string, Mean>()
  const all = Promise.withResolvers<void>()
  let seen = 0
  await consumer.run({
    eachMessage: async ({ message }) => {
      means.set(String(message.key), JSON.parse(String(message.value)) as Mean)
      if (++seen === expected) all.resolve()
    },
  })
  await all.promise
  await consumer.disconnect()
  return [...means.values()]
}

await admin.connect()
const topics = [RATINGS, MEANS].map((topic) => ({ topic, numPartitions: 2 }))
await admin.createTopics({ topics, waitForLeaders: true })
const fed = await feed()
console.log(`kafkajs committed ${fed} ratings and aborted 500`)
await computeMeans()
const means = await readMeans(fed)
const counted = means.reduce((sum, { count }) => sum + count, 0)
console.log(
  `kafkajs read ${fed} means of ${means.length} items, over ${counted} ratings in the end`,
)
const best = means.toSorted((a, b) => b.mean - a.mean).slice(0, 3)
for (const { item, count, mean } of best) {
  console.log(`item ${item.padStart(2)}: ${mean.toFixed(3)} of ${count} ratings`)
}
await admin.deleteTopics({ topics: [RATINGS, MEANS] })
await admin.disconnect()
