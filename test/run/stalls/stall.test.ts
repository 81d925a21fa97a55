import { expect, it } from 'vitest'
import { decideStall, type RunFacts } from './stall.ts'

const limits = { sayMs: 10, mostQuietMs: 100, graceMs: 5 }
const facts: RunFacts = { nowMs: 0, lastEndMs: 0, saidMs: 0, running: [] }
const running = (sinceMs: number, limitMs: number | undefined) => ({ name: 'a', sinceMs, limitMs })

it.each([
  ['a test has just ended', { nowMs: 9 }, 'nothing'],
  ['no test has ended for some time', { nowMs: 10 }, 'say'],
  ['that was just said', { nowMs: 19, saidMs: 10 }, 'nothing'],
  ['it was said some time ago', { nowMs: 20, saidMs: 10 }, 'say'],
  ['no limit explains it', { nowMs: 100, saidMs: 99 }, 'end'],
  ['the limit of a test has not passed', { nowMs: 204, running: [running(0, 200)] }, 'say'],
  ['the limit of a test has passed', { nowMs: 205, running: [running(0, 200)] }, 'end'],
  [
    'a test without a limit of its own runs',
    { nowMs: 100, running: [running(0, undefined)] },
    'end',
  ],
] as const)('where %s', (_, some, decision) => {
  expect(decideStall({ ...facts, ...some }, limits)).toBe(decision)
})
