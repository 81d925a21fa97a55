import { afterAll, beforeAll, describe } from 'vitest'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { itLearnsAfterTheFile } from '../versions/trained-on-file.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
})

describe('a model that is trained on a file and learned from a topic of Kafka', () => {
  itLearnsAfterTheFile(() => ['--brokers', broker.bootstrap])
})
