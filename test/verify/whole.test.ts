import { expect, it } from 'vitest'
import { campaignTests } from '../../verify/whole.ts'

it('npm run verify runs each test file with a campaign', () => {
  const files = campaignTests()
  expect(files).toContain('test/disk/crash-campaign.test.ts')
  expect(files).toContain('test/system/cli/verify.test.ts')
  // A size in another file is one of which the files that import it know nothing: they would not run whole.
  expect(files.filter((file) => !file.endsWith('.test.ts'))).toEqual([])
})
