import { expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { policyOf } from '../../../src/cli/flags/retrain-triggers.ts'

it('the time since the last training is no trigger where it is the period of a test set', () => {
  const given = { 'min-interval': '0', 'error-level': '0.5', every: '60' }
  expect(policyOf(new Flags(given))).toMatchObject({ errorLevel: 0.5, everyMs: 60_000 })
  const beside = policyOf(new Flags({ ...given, evaluate: 'held-out' }))
  expect(beside).toMatchObject({ errorLevel: 0.5 })
  expect(beside.everyMs).toBeUndefined()
})
