import { afterAll, beforeAll } from 'vitest'
import { groupContract } from '../../../contracts/group.ts'
import { type SharedKafka, sharedKafka } from '../../../services/lending/kafka.ts'
import { newTopic } from '../fixture.ts'
import { kafkaWorld } from './kafka-world.ts'

let broker: SharedKafka
let topic: string

beforeAll(async () => {
  broker = await sharedKafka()
  topic = await newTopic({ brokers: broker.bootstrap }, { partitions: 24 })
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
})

groupContract('Kafka', () => kafkaWorld(broker.bootstrap, topic, 'group'))
