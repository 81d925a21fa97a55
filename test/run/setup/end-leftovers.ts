import { afterAll } from 'vitest'
import { LEFTOVERS } from './leftovers.ts'

/*
 * Setup of each file of system tests: ends the processes that its tests left behind.
 */

// The first hook is the last one to run.
afterAll(async () => {
  await Promise.all([...LEFTOVERS].map((one) => one[Symbol.asyncDispose]()))
})
