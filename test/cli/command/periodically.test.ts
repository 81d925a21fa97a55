import { expect, it } from 'vitest'
import { InterruptedError } from '../../../src/cli/command/command.ts'
import { periodically } from '../../../src/cli/command/periodically.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { recordedIo } from '../recorded-io.ts'

/** Runs a task whose results are `outcomes`, one run after the other; Ctrl-C comes after the last. */
function periodicRuns(outcomes: readonly (Error | undefined)[]) {
  const interrupted = Promise.withResolvers<void>()
  const { io, err } = recordedIo({ interrupted: interrupted.promise })
  const clock = new ManualClock()
  let runs = 0
  const task = async (): Promise<void> => {
    const outcome = outcomes[runs++]
    clock.advance(400)
    if (runs === outcomes.length) interrupted.resolve()
    if (outcome !== undefined) throw outcome
  }
  const ended = periodically({ seconds: 2, io, clock }, task)
  return { clock, err, ended, runs: () => runs }
}

it('runs again after its seconds, counted from start to start, until Ctrl-C', async () => {
  const { clock, ended, runs } = periodicRuns([undefined, undefined, undefined])
  ended.catch(() => undefined)
  await expect.poll(() => clock.pending).toBe(1)
  clock.advance(1599)
  expect(runs()).toBe(1)
  clock.advance(1)
  await expect.poll(runs).toBe(2)
  await expect.poll(() => clock.pending).toBe(1)
  clock.advance(1600)
  await expect(ended).rejects.toThrow(InterruptedError)
  expect(runs()).toBe(3)
})

it('throws the failure of the first run, and reports that of a later one', async () => {
  const failure = new Error('the port is closed')
  await expect(periodicRuns([failure]).ended).rejects.toBe(failure)
  const { clock, err, ended } = periodicRuns([undefined, failure, undefined])
  ended.catch(() => undefined)
  for (let run = 1; run < 3; run++) {
    await expect.poll(() => clock.pending).toBe(1)
    clock.advance(1600)
  }
  await expect(ended).rejects.toThrow(InterruptedError)
  expect(err).toEqual(['failed, and is tried again in 2 s: the port is closed'])
})
