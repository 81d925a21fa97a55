import { expect, it } from 'vitest'
import { runLoads } from '../../../verify/models/loads.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'

it('models that are loaded and unloaded leave no memory, descriptors or threads behind', {
  ...needs(process.platform === 'linux', 'only Linux has descriptors and threads in /proc'),
}, async () => {
  const count = campaignSize(10, 30)
  const { violations } = await runLoads({ seed: 1, count, say() {} })
  expect(violations).toEqual([])
})
