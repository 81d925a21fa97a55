import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  endTransaction,
  transactionIdentity,
} from '../../../src/connectors/kafka/client/identity.ts'
import { KafkaProducer } from '../../../src/connectors/kafka/producer.ts'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { MemorySink } from '../../../src/connectors/memory/sink.ts'
import { StreamExecutionEnvironment } from '../../../src/dataflow/stream-execution-environment.ts'
import type { Source } from '../../../src/operators/port/source.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { bytes, newTopic, openCluster, openProducer, produce, text } from '../kafka/fixture.ts'

let broker: SharedKafka
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const CUSTOMERS = 600

/** Sends rows in a transaction, which ends with a marker behind them in each partition. */
async function transaction(
  topic: string,
  lines: readonly string[],
  commit: boolean,
): Promise<void> {
  const cluster = openCluster(client())
  const identity = await transactionIdentity(cluster, `tx-${topic}-${commit}`, 60_000)
  const producer = await KafkaProducer.open(cluster, topic, { identity })
  for (const line of lines) {
    const [key, value] = line.split('=')
    producer.sendRecord(bytes(key!), bytes(value!), 1_000, -1, [])
  }
  await producer.flush()
  await endTransaction(cluster, identity, commit)
  producer.close()
}

it('a compacted topic is a table that is read to its end first, with tombstones and transactions', async () => {
  const customers = await newTopic(client(), { partitions: 3, compacted: true })
  const orders = await newTopic(client(), { partitions: 2 })
  const ids = Array.from({ length: CUSTOMERS }, (_, id) => id)
  await produce(
    client(),
    orders,
    ids.map((id) => `o${id}=${id}`),
  )
  await produce(
    client(),
    customers,
    ids.map((id) => `${id}=old-${id}`),
  )
  await transaction(
    customers,
    ids.map((id) => `${id}=c${id}`),
    true,
  )
  const deleter = await openProducer(client(), customers)
  for (const id of ids.filter((each) => each % 10 === 9)) {
    deleter.sendRecord(bytes(String(id)), null, 1_000, -1, [])
  }
  await deleter.flush()
  // The last records of each partition are ones that no one sees, and a marker.
  await transaction(
    customers,
    ids.map((id) => `${id}=aborted`),
    false,
  )
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const table = env.table(KafkaSource.raw({ ...client(), topic: customers }), {
    keyOf: ({ key }) => Number(text(key)),
    rowOf: ({ value }) => (value === null ? null : text(value)),
  })
  const sink = new MemorySink<string>()
  env
    .fromSource(KafkaSource.raw({ ...client(), topic: orders }))
    .joinTable(
      table,
      ({ value }) => Number(text(value)),
      ({ value }, name) => `${text(value)} ${name}`,
      { type: 'left' },
    )
    .sinkTo(sink)
  await using cluster = new MiniCluster()
  const job = cluster.startLocal(env.graph('orders'))
  await expect.poll(() => sink.values.length, { timeout: 60_000 }).toBe(CUSTOMERS)
  const expected = ids.map((id) => `${id} ${id % 10 === 9 ? undefined : `c${id}`}`)
  expect(sink.values.toSorted()).toEqual(expected.sort())
  await job.cancel()
})

/** A source whose readers wait for their first answer during many turns, as for a broker that is far away. */
function slowToBegin<T>(source: Source<T>): Source<T> {
  const waits = 200
  return new Proxy(source, {
    get(target, name) {
      if (name !== 'createReader') return bound(target, name)
      return () => {
        let left = waits
        return new Proxy(target.createReader(), {
          get(reader, member) {
            if (left > 0 && member === 'poll') return () => 'idle'
            if (left === 0 || member !== 'available') return bound(reader, member)
            return async () => {
              for (; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
            }
          },
        })
      }
    },
  })
}

function bound(target: object, name: PropertyKey): unknown {
  const member: unknown = Reflect.get(target, name)
  return typeof member === 'function' ? member.bind(target) : member
}

it('a table whose reader waits for its first answer is not taken for one that is read', async () => {
  const customers = await newTopic(client(), { partitions: 2 })
  const orders = await newTopic(client(), { partitions: 2 })
  const ids = Array.from({ length: CUSTOMERS }, (_, id) => `${id}`)
  await produce(
    client(),
    orders,
    ids.map((id) => `o${id}=${id}`),
  )
  await produce(
    client(),
    customers,
    ids.map((id) => `${id}=c${id}`),
  )
  const env = new StreamExecutionEnvironment({ parallelism: 2 })
  const table = env.table(slowToBegin(KafkaSource.raw({ ...client(), topic: customers })), {
    keyOf: ({ key }) => text(key),
    rowOf: ({ value }) => text(value),
  })
  const sink = new MemorySink<string>()
  env
    .fromSource(KafkaSource.raw({ ...client(), topic: orders }))
    .joinTable(
      table,
      ({ value }) => text(value),
      ({ value }, name) => `${text(value)} ${name}`,
      { type: 'left' },
    )
    .sinkTo(sink)
  await using cluster = new MiniCluster()
  const job = cluster.startLocal(env.graph('slow'))
  await expect.poll(() => sink.values.length, { timeout: 60_000 }).toBe(CUSTOMERS)
  expect(sink.values.toSorted()).toEqual(ids.map((id) => `${id} c${id}`).sort())
  await job.cancel()
})
