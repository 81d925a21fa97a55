import { describe, expect, it } from 'vitest'
import {
  LEASE_MS,
  type Processes,
  publisherState,
  SILENT_LEASE_MS,
} from '../../../src/models/registry/publisher.ts'

/** A machine `here` on which only process 7 publishes. */
const here: Processes = { machine: 'here', goesOn: (process) => process.startsWith('here/7-') }

const stateOf = (process: string | undefined, ageMs: number, leaseMs = LEASE_MS) =>
  publisherState({ process, ageMs, leaseMs }, here)

describe('a publisher of this machine', () => {
  it('runs while its process does, however long it is silent', () => {
    expect(stateOf('here/7-1/1', 100 * LEASE_MS)).toBe('running')
  })

  it('is gone as soon as its process has ended', () => {
    expect(stateOf('here/8-1/1', 0)).toBe('gone')
  })
})

describe('a publisher of another machine', () => {
  it('may run until its lease has ended', () => {
    expect(stateOf('there/7-1/1', LEASE_MS)).toBe('may-run')
    expect(stateOf('there/7-1/1', LEASE_MS + 1)).toBe('gone')
  })

  it('is not taken for one of this machine whose name is longer', () => {
    expect(stateOf('here:2/7-1/1', 0)).toBe('may-run')
  })
})

it('a publisher that does not say who it is may run for a day', () => {
  expect(stateOf(undefined, SILENT_LEASE_MS, SILENT_LEASE_MS)).toBe('may-run')
  expect(stateOf(undefined, SILENT_LEASE_MS + 1, SILENT_LEASE_MS)).toBe('gone')
})
