import { afterAll } from 'vitest'
import { leaseCore } from '../../services/lending/lease.ts'

/*
 * First setup of each file of system tests: the file waits until the cores have a place for it. There are more
 * workers than places, so that the next file has its code already.
 */

const { giveBack } = await leaseCore()
// The first hook is the last one to run.
afterAll(giveBack)
