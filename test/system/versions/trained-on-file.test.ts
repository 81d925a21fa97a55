import { describe } from 'vitest'
import { itLearnsAfterTheFile } from './trained-on-file.ts'

describe('a model that is trained on a file and learned from a topic of the embedded log', () => {
  itLearnsAfterTheFile(() => [])
})
