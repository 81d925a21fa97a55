import { relative, resolve, sep } from 'node:path'
import { expect } from 'vitest'
import { commitSeed } from '../../services/commit-seed.ts'
import { isInThird } from '../lanes/campaign-third.ts'

/*
 * Setup of each test file: in a run with a third of the campaigns, says whether that of this file is whole.
 */

if (process.env['WEIR_THIRD'] === '1') {
  const root = resolve(import.meta.dirname, '../../..')
  const file = relative(root, expect.getState().testPath!).split(sep).join('/')
  process.env['WEIR_WHOLE'] = isInThird(file, commitSeed()) ? '1' : '0'
}
