import { describe, expect, it } from 'vitest'
import { CANDIDATE } from '../../../src/models/registry/adopt.ts'
import type { Processes } from '../../../src/models/registry/publisher.ts'
import {
  isCollectable,
  RETRAINING,
  type TopicVersion,
  unfinishedVersion,
} from '../../../src/models/registry/unfinished.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'
import { registeredVersion } from './registered-version.ts'

const NOW_MS = 2_000_000_000
const DAY_MS = 86_400_000
/** A machine on which only process 7 publishes. */
const here: Processes = { machine: 'here', goesOn: (process) => process.startsWith('here/7-') }
const RUNNING = 'here/7-1/1'
const GONE = 'here/8-1/1'

function versionWith(marker: Partial<ModelVersionMarker>, atMs = NOW_MS): TopicVersion {
  return {
    marker: {
      ...{ event: 'announce', version: 3, name: 'ALS_MODEL', dimension: 2, biased: false },
      ...{ users: 1, items: 1, globalMean: 0, hyperparameters: {}, metrics: {} },
      ...marker,
    },
    ...{ atMs, rows: 5, bytes: 100 },
  }
}

const kindOf = (version: TopicVersion, registered?: RegisteredVersion) =>
  unfinishedVersion(version, registered, { nowMs: NOW_MS, here })?.kind

describe('an announced version', () => {
  const by = (process: string, atMs = NOW_MS) => versionWith({ publisher: { process, atMs } })

  it('is in publication while its publisher runs, and incomplete when that has ended', () => {
    expect([kindOf(by(RUNNING)), kindOf(by(GONE))]).toEqual(['publishing', 'incomplete'])
  })

  it('of another machine is incomplete ten minutes after the last sign of life', () => {
    expect(kindOf(by('there/7-1/1', NOW_MS - 600_000))).toBe('publishing')
    expect(kindOf(by('there/7-1/1', NOW_MS - 600_001))).toBe('incomplete')
  })

  it('of an earlier build is incomplete after a day', () => {
    expect(kindOf(versionWith({}, NOW_MS - DAY_MS))).toBe('publishing')
    expect(kindOf(versionWith({}, NOW_MS - DAY_MS - 1))).toBe('incomplete')
  })
})

describe('a retired version', () => {
  it('is finished when its rows are deleted', () => {
    expect(kindOf(versionWith({ event: 'retire' }))).toBeUndefined()
  })

  it('with rows is one whose deletion was interrupted, or one that never was complete', () => {
    expect(kindOf(versionWith({ event: 'retire', rowsLeft: true }))).toBe('deleting')
    expect(kindOf(versionWith({ event: 'retire', rowsLeft: true, incomplete: true }))).toBe(
      'incomplete',
    )
  })
})

it('a whole version that the registry has as retired is one whose deletion did not begin', () => {
  const retired: RegisteredVersion = { ...registeredVersion(3), state: 'retired' }
  expect(kindOf(versionWith({ event: 'ready' }), retired)).toBe('deleting')
})

describe('a whole version', () => {
  const candidate = (process: string, atMs = NOW_MS) =>
    versionWith(
      { event: 'ready', hyperparameters: { [CANDIDATE]: true, [RETRAINING]: process } },
      atMs,
    )

  it('is finished', () => {
    expect(kindOf(versionWith({ event: 'ready' }))).toBeUndefined()
  })

  it('that a retraining did not register is unregistered, also where the registry got it from the topic', () => {
    const adopted = registeredVersion(3)
    const lineage = { ...adopted.lineage, code: 'published' }
    expect(kindOf(candidate(RUNNING))).toBeUndefined()
    expect(kindOf(candidate(GONE))).toBe('unregistered')
    expect(kindOf(candidate(GONE), { ...adopted, state: 'candidate', lineage })).toBe(
      'unregistered',
    )
    expect(kindOf(candidate(GONE), { ...adopted, state: 'live', lineage })).toBeUndefined()
    expect(kindOf(candidate(GONE), { ...adopted, state: 'candidate' })).toBeUndefined()
  })

  it('of a retraining of another machine is unregistered after a day', () => {
    expect(kindOf(candidate('there/1-1/1', NOW_MS - DAY_MS))).toBeUndefined()
    expect(kindOf(candidate('there/1-1/1', NOW_MS - DAY_MS - 1))).toBe('unregistered')
  })
})

describe('a retention', () => {
  const collects = (version: TopicVersion, registered?: RegisteredVersion) =>
    isCollectable(unfinishedVersion(version, registered, { nowMs: NOW_MS, here })!, registered)
  const announced = (process: string) => versionWith({ publisher: { process, atMs: NOW_MS } })

  it('deletes what an interrupted publication or deletion has left, and nothing that is being published', () => {
    expect(collects(announced(GONE))).toBe(true)
    expect(collects(versionWith({ event: 'retire', rowsLeft: true }))).toBe(true)
    expect(collects(announced(RUNNING))).toBe(false)
  })

  it('leaves a version of the registry to a person, whose rows were being replaced', () => {
    expect(collects(announced(GONE), registeredVersion(3))).toBe(false)
  })
})
