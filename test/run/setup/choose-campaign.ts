import { relative, resolve, sep } from 'node:path'
import { expect } from 'vitest'
import { commitSeed } from '../../services/commit-seed.ts'
import { isInSixth } from '../lanes/campaign-sixth.ts'

/*
 * Setup of each test file: in a run with a sixth of the campaigns, says whether that of this file is whole.
 */

if (process.env['WEIR_SIXTH'] === '1') {
  const root = resolve(import.meta.dirname, '../../..')
  const file = relative(root, expect.getState().testPath!).split(sep).join('/')
  process.env['WEIR_WHOLE'] = isInSixth(file, commitSeed()) ? '1' : '0'
}
