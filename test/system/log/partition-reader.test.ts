import { describe, it } from 'vitest'
import {
  expectCutSegmentsAreRefused,
  expectWrongHeadersAreSeen,
} from '../../connectors/log/storage/damaged-partition.ts'

describe.each(['delete', 'compact'] as const)('a reader of a topic with cleanup %s', (policy) => {
  it('never skips records when a bit of any batch header is wrong', async () => {
    await expectWrongHeadersAreSeen(policy, 1)
  })

  it('refuses any closed segment that is cut off or missing', async () => {
    await expectCutSegmentsAreRefused(policy, 1)
  })
})
