import { describe, expect, it } from 'vitest'
import { type ErrorCode, WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { EXPONENTIAL_DELAY } from '../../../src/runtime/configuration/restart-strategy.ts'
import { JobRestarts } from '../../../src/runtime/job/restarts.ts'
import { failureReport, strayError } from '../../../src/runtime/protocol/failure-report.ts'
import { failureOf, slotLost } from '../../../src/runtime/protocol/slot-host.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const restarts = (): JobRestarts =>
  new JobRestarts(EXPONENTIAL_DELAY, new ManualClock(0), seededRandom(1))

/** The failure of an attempt whose operator threw `error`, as the main thread gets it from a slot. */
const thrownInSlot = (error: Error): WeirError =>
  failureOf(failureReport(error, { attempt: 1, task: 'source#0', operator: 'source' }))

/** An error of the file system as Node throws it. */
function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: open '/data/in'`), { code, syscall: 'open' })
}

describe('JobRestarts', () => {
  it.each<[ErrorCode, 'fail' | 'restart']>([
    ['UNKNOWN_TOPIC', 'fail'],
    ['TOPIC_CHANGED', 'fail'],
    ['STATE_CONFLICT', 'fail'],
    ['UNSUPPORTED_VERSION', 'fail'],
    ['INVALID_TRANSACTION', 'fail'],
    ['ACCESS_DENIED', 'fail'],
    ['FRAME_TOO_LARGE', 'fail'],
    ['COORDINATOR_FENCED', 'fail'],
    ['CONNECTOR_FAILED', 'restart'],
    ['STORAGE_FAILED', 'restart'],
    ['TRANSACTION_FENCED', 'restart'],
    ['SLOT_LOST', 'restart'],
    ['DISK_FULL', 'restart'],
  ])('answers %s with %s, also when it was thrown in a slot', (code, expected) => {
    const error = new WeirError(code, 'no')
    expect(restarts().decide(error, 'running').kind).toBe(expected)
    expect(restarts().decide(thrownInSlot(error), 'starting').kind).toBe(expected)
  })

  it.each([
    ['ENOENT', 'FILE_NOT_FOUND', 'fail'],
    ['EACCES', 'PERMISSION_DENIED', 'fail'],
    ['EROFS', 'PERMISSION_DENIED', 'fail'],
    ['ENOSPC', 'DISK_FULL', 'restart'],
  ])('types the system error %s as %s', (system, code, expected) => {
    const error = thrownInSlot(systemError(system))
    expect(error.details['code']).toBe(code)
    expect(error.message).toMatch(/'\/data\/in'; .+/)
    expect(restarts().decide(error, 'running').kind).toBe(expected)
  })

  it('ends after several attempts whose slots did not answer, with no checkpoint between them', () => {
    const silent = (slot: number): WeirError =>
      new WeirError('SLOT_LOST', `slot ${slot} has not answered`, {
        details: { slot, lostBy: 'silence' },
      })
    const same = restarts()
    const kinds = [1, 1, 2, 2, 2, 2, 2].map(
      (checkpoint, slot) => same.decide(silent(slot), 'running', checkpoint).kind,
    )
    expect(kinds).toEqual([...Array.from({ length: 6 }, () => 'restart'), 'fail'])
    const killed = new WeirError('SLOT_LOST', 'killed', { details: { slot: 0 } })
    const others = restarts()
    for (let n = 0; n < 10; n++) expect(others.decide(killed, 'running', 1).kind).toBe('restart')
  })

  it('ends after several attempts whose slot ended by itself in the same way, with no checkpoint between them', () => {
    const ended = (slot: number, code: number): WeirError =>
      slotLost(slot, new Error(`its thread ended with code ${code}`), false)
    const same = restarts()
    const kinds = [7, 0, 0, 0, 0, 0].map(
      (code, n) => same.decide(ended(n % 2, code), 'running').kind,
    )
    expect(kinds).toEqual([...Array.from({ length: 5 }, () => 'restart'), 'fail'])
    const between = restarts()
    for (let n = 0; n < 20; n++) {
      expect(between.decide(ended(0, 0), 'running', Math.floor(n / 4)).kind).toBe('restart')
    }
    const killed = restarts()
    for (let n = 0; n < 20; n++) {
      const error = slotLost(0, new Error('its thread ended with code 1'), true)
      expect(killed.decide(error, 'running').kind).toBe('restart')
    }
  })

  it('ends after several attempts with the same error of asynchronous code, with no checkpoint between them', () => {
    const stray = (message: string): WeirError =>
      failureOf(
        failureReport(strayError(new Error(message)), {
          attempt: 1,
          task: 'map#0',
          operator: 'Map',
          stray: true,
        }),
      )
    const same = restarts()
    const kinds = ['a', 'b', 'b', 'b', 'b', 'b'].map(
      (message) => same.decide(stray(message), 'running').kind,
    )
    expect(kinds).toEqual([...Array.from({ length: 5 }, () => 'restart'), 'fail'])
    const between = restarts()
    for (let n = 0; n < 20; n++) {
      expect(between.decide(stray('b'), 'running', Math.floor(n / 4)).kind).toBe('restart')
    }
  })

  it('ends after several attempts that failed with the same message and never ran', () => {
    const same = restarts()
    const thrown = new Error('no native build')
    const kinds = Array.from({ length: 5 }, (_, n) => {
      const task = `source#${n % 2}`
      const report = failureReport(thrown, { attempt: n, task, operator: 'source' })
      return same.decide(failureOf(report), 'starting')
    })
    expect(kinds.slice(0, 4).every(({ kind }) => kind === 'restart')).toBe(true)
    expect(kinds[4]).toEqual({
      kind: 'fail',
      reason: '5 attempts in a row failed with this message before they ran',
    })
  })

  it('ends after five attempts that failed with the same message at the same record, also when they ran', () => {
    const record = { source: 'orders', partition: 1, offset: 17 }
    const failedAt = (offset: number): WeirError => {
      const at = { attempt: 1, task: 'parse#0', operator: 'parse', record: { ...record, offset } }
      return failureOf(failureReport(new SyntaxError('no JSON'), at))
    }
    const [same, moving] = [restarts(), restarts()]
    const decisions = Array.from({ length: 5 }, () => same.decide(failedAt(17), 'running'))
    expect(decisions.map(({ kind }) => kind)).toEqual([...Array(4).fill('restart'), 'fail'])
    expect(decisions[4]).toMatchObject({
      reason: '5 attempts in a row failed with this message at the record 1:17 of source orders',
    })
    for (let n = 0; n < 20; n++) {
      expect(moving.decide(failedAt(n), 'running').kind).toBe('restart')
    }
  })

  it('goes on when the message changes, or an attempt ran in between', () => {
    const changing = restarts()
    const running = restarts()
    for (let n = 0; n < 20; n++) {
      const error = thrownInSlot(new Error(`${n % 2}`))
      expect(changing.decide(error, 'starting').kind).toBe('restart')
      const phase = n % 4 === 3 ? 'running' : 'starting'
      expect(running.decide(thrownInSlot(new Error('same')), phase).kind).toBe('restart')
    }
  })
})
