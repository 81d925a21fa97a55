import { describe, expect, it } from 'vitest'
import { adoption, CANDIDATE, withAdoption } from '../../../src/models/registry/adopt.ts'
import type { RegistryState } from '../../../src/models/registry/version.ts'
import type { ModelVersionMarker } from '../../../src/models/registry/version-marker.ts'

const EMPTY: RegistryState = { models: new Map(), versions: new Map() }

function marker(version: number, fields: Partial<ModelVersionMarker> = {}): ModelVersionMarker {
  return {
    event: 'ready',
    version,
    name: 'ALS_MODEL',
    dimension: 4,
    biased: false,
    users: 1,
    items: 1,
    globalMean: 0,
    hyperparameters: {},
    metrics: {},
    ...fields,
  }
}

const registered = (version: number): ModelVersionMarker => marker(version, { registered: true })
const candidate = (version: number): ModelVersionMarker =>
  marker(version, { hyperparameters: { [CANDIDATE]: true } })

/** States of the versions in a registry, after an adoption. */
function adoptedInto(
  state: RegistryState,
  markers: readonly ModelVersionMarker[],
  published?: number,
): { readonly state: RegistryState; readonly states: Record<number, string> } {
  const whose = published === undefined ? {} : { published }
  const found = withAdoption(state, adoption(state, { topic: 'm', markers, atMs: 1, ...whose }))
  const versions = [...(found.versions.get('m')?.values() ?? [])]
  return { state: found, states: Object.fromEntries(versions.map((v) => [v.number, v.state])) }
}

describe('a version that its publisher registers', () => {
  it('goes live as the first one of its model, and is a candidate after that', () => {
    const first = adoptedInto(EMPTY, [registered(1)], 1)
    expect(first.states).toEqual({ 1: 'live' })
    const second = adoptedInto(first.state, [registered(1), registered(2)], 2)
    expect(second.states).toEqual({ 1: 'live', 2: 'candidate' })
    expect(second.state.models.get('m')).toMatchObject({ live: 1, rollback: 0 })
  })

  it('has what it was trained on in its lineage', () => {
    const trainedOn = {
      files: [{ file: 'base.csv', sha256: 'a'.repeat(64) }],
      ranges: [{ topic: 'ratings', partition: 0, from: 0, to: 8 }],
      newestEventMs: 5,
    }
    const markers = [marker(1), marker(2, { registered: true, trainedOn })]
    const { versions } = adoptedInto(EMPTY, markers, 2).state
    expect(versions.get('m')!.get(2)!.lineage).toMatchObject(trainedOn)
    expect(versions.get('m')!.get(1)!.lineage).toMatchObject({ files: [], newestEventMs: -1 })
  })

  it('is a candidate after an import that no one promoted', () => {
    const imported = adoptedInto(EMPTY, [candidate(1)])
    expect(adoptedInto(imported.state, [candidate(1), registered(2)], 2).states).toEqual({
      1: 'candidate',
      2: 'candidate',
    })
  })

  it('is a candidate beside versions of a program that writes to the topic, of which the highest is live', () => {
    const others = adoptedInto(EMPTY, [marker(1), marker(2)])
    expect(adoptedInto(others.state, [marker(1), marker(2), registered(3)], 3).states).toEqual({
      1: 'candidate',
      2: 'live',
      3: 'candidate',
    })
  })

  it('replaces the record of a candidate with its number, whose checks were of other rows', () => {
    const { state } = adoptedInto(
      adoptedInto(EMPTY, [registered(1)], 1).state,
      [registered(1), registered(2)],
      2,
    )
    const other = marker(2, { registered: true, users: 7 })
    const again = adoptedInto(state, [registered(1), other], 2)
      .state.versions.get('m')
      ?.get(2)
    expect(again).toMatchObject({ users: 7, state: 'candidate', checks: [] })
  })
})

it('no version goes live by itself when the registry that had them is gone', () => {
  const all = [registered(1), candidate(2), registered(3)]
  const states = { 1: 'candidate', 2: 'candidate', 3: 'candidate' }
  expect(adoptedInto(EMPTY, all).states).toEqual(states)
  expect(adoptedInto(EMPTY, [...all, registered(4)], 4).states).toEqual({
    ...states,
    4: 'candidate',
  })
})
