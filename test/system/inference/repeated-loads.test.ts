import { expect, it } from 'vitest'
import { runLoads } from '../../../verify/models/loads.ts'
import { campaignSize } from '../../run/campaign-size.ts'

// Descriptors and threads are counted in /proc.
it.runIf(process.platform === 'linux')(
  'models that are loaded and unloaded leave no memory, descriptors or threads behind',
  async () => {
    const count = campaignSize(10, 30)
    const { violations } = await runLoads({ seed: 1, count, say() {} })
    expect(violations).toEqual([])
  },
  120_000,
)
