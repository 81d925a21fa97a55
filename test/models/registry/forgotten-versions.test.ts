import { expect, it } from 'vitest'
import {
  forgottenVersions,
  RETIRED_VERSIONS,
} from '../../../src/models/registry/forgotten-versions.ts'
import {
  deletedVersionRecord,
  foldRegistry,
  versionRecord,
} from '../../../src/models/registry/format.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { registeredVersion } from './registered-version.ts'

const squaresOf = (error: number): string =>
  Buffer.from(Float32Array.of(error, error).buffer).toString('base64')

/** A retired version that was live; its errors on the golden set are all `error`. */
const retired = (number: number, error = 1, golden = 'golden'): RegisteredVersion => ({
  ...registeredVersion(number),
  state: 'retired',
  golden: { golden, squares: squaresOf(error) },
  notes: [{ atMs: 1, event: 'promoted' }],
})

const COUNT = RETIRED_VERSIONS + 20
const versions = (change: (number: number) => RegisteredVersion): RegisteredVersion[] => [
  registeredVersion(1),
  ...Array.from({ length: COUNT }, (_, i) => change(i + 2)),
  { ...registeredVersion(COUNT + 2), state: 'live' },
]

const forgotten = (all: readonly RegisteredVersion[]): number[] =>
  forgottenVersions(foldRegistry(all.map(versionRecord)), 'als-model').map(({ number }) => number)

it('the records of versions that were retired long ago are deleted, and no others', () => {
  const all = versions((number) => ({ ...registeredVersion(number), state: 'retired' }))
  expect(forgotten(all)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2))
  expect(forgotten(all.slice(0, RETIRED_VERSIONS))).toEqual([])
})

it('the best version ever promoted stays, so that the gate cannot be lowered step by step', () => {
  const all = versions((number) => retired(number, number === 7 ? 0.5 : 1))
  expect(forgotten(all)).not.toContain(7)
  expect(forgotten(all)).toHaveLength(19)
  // Of a golden set that no kept version was measured on, none is compared with.
  const earlier = versions((number) =>
    number === 7 ? retired(number, 0.5, 'an earlier set') : retired(number),
  )
  expect(forgotten(earlier)).toContain(7)
})

it('a record without a value deletes the version', () => {
  const [first, second] = [registeredVersion(1), registeredVersion(2)]
  const state = foldRegistry([
    ...[first, second].map(versionRecord),
    deletedVersionRecord(first),
    deletedVersionRecord({ ...first, name: 'unknown' }),
  ])
  expect([...state.versions.get('als-model')!.keys()]).toEqual([2])
})
