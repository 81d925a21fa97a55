import { Kafka, logLevel, Partitioners } from 'kafkajs'

/**
 * A client that shares no code with Weir. Its read_committed reader cannot check results: it expects
 * the aborted transactions of an answer in the order of their first offsets, but brokers sort them by
 * their ends. So it shows records of overlapping aborted transactions.
 */
function kafkajs(brokers: string): Kafka {
  return new Kafka({
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 30 },
  })
}

/** A producer of kafkajs for one topic. */
export interface IndependentProducer {
  send(messages: readonly { key: string; value: string; partition?: number }[]): Promise<void>
  close(): Promise<void>
}

/** Connects an idempotent producer. */
export async function independentProducer(
  brokers: string,
  topic: string,
): Promise<IndependentProducer> {
  const producer = kafkajs(brokers).producer({
    idempotent: true,
    createPartitioner: Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  return {
    async send(messages) {
      await producer.send({ topic, messages: [...messages] })
    },
    close: () => producer.disconnect(),
  }
}

/** A consumer that is a member of a group until it is disposed. */
export async function joinGroup(
  brokers: string,
  groupId: string,
  topic: string,
): Promise<AsyncDisposable> {
  const consumer = kafkajs(brokers).consumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topic })
  const joined = new Promise<void>((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, () => resolve())
  })
  await consumer.run({ eachMessage: async () => {}, autoCommit: false })
  await joined
  return { [Symbol.asyncDispose]: () => consumer.disconnect() }
}
