import { afterAll, beforeAll, describe } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
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
  // The short part has every second test, by the seed: the embedded log has the others.
  itLearnsAfterTheFile(
    () => ['--brokers', broker.bootstrap],
    (test) => campaignSize(test % 2 === commitSeed() % 2, true),
  )
})
