import { relative, resolve, sep } from 'node:path'
import { afterAll, expect } from 'vitest'
import { leaseCore } from '../../services/lending/lease.ts'
import { WAITING_FILES } from './special-files.ts'

/*
 * First setup of each file of system tests: a file that computes waits until at most one other does. There are more
 * workers than that, for the files that wait.
 */

const root = resolve(import.meta.dirname, '../../..')
const file = relative(root, expect.getState().testPath!).split(sep).join('/')
if (!Object.hasOwn(WAITING_FILES, file)) {
  const { giveBack } = await leaseCore()
  // The first hook is the last one to run.
  afterAll(giveBack)
}
