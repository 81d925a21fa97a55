import { describe } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { itLearnsAfterTheFile } from './trained-on-file.ts'

describe('a model that is trained on a file and learned from a topic of the embedded log', () => {
  // The short part has every second test, by the seed: Kafka has the others.
  itLearnsAfterTheFile(
    () => [],
    (test) => campaignSize(test % 2 !== commitSeed() % 2, true),
  )
})
