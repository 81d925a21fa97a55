import { afterAll, expect } from 'vitest'
import { leaseCore } from '../../services/lending/lease.ts'
import { WAITING_FILES } from './special-files.ts'

/*
 * First setup of each file of system tests: the file waits until the cores have a place for it, unless it mostly waits
 * itself. There are more workers than places, so that the next file has its code already.
 */

const path = expect.getState().testPath!
if (!WAITING_FILES.some((file) => path.endsWith(`/${file}`))) {
  const { giveBack } = await leaseCore()
  // The first hook is the last one to run.
  afterAll(giveBack)
}
