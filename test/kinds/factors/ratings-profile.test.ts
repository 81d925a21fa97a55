import { describe, expect, it } from 'vitest'
import { type PlacedRating, ratingsProfile } from '../../../src/kinds/factors/ratings-profile.ts'
import type { DataFile } from '../../../src/models/registry/ranges/data-range.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'

const HISTORY: DataFile = { file: 'old.csv', sha256: 'a' }

const placed = (user: string, item: string, partition: number, offset: number): PlacedRating => ({
  ...{ user, item, rating: 3, partition, offset },
})
const IN_FILES = [placed('u1', 'i1', -1, -1), placed('u2', 'i1', -1, -1)]
const IN_TOPIC = [placed('u1', 'i2', 0, 0), placed('u3', 'i2', 0, 1)]
const GOLDEN = ratingsTable(
  [
    ['u1', 'i1'],
    ['u3', 'i2'],
    ['u2', 'i2'],
  ].map(([user, item]) => ({ user: user!, item: item!, rating: 3, timestamp: -1 })),
)

function trainedOn(number: number, to: number, files: readonly DataFile[]): RegisteredVersion {
  const version = registeredVersion(number)
  const ranges = to === 0 ? [] : [{ topic: 'ratings', partition: 0, from: 0, to }]
  return { ...version, lineage: { ...version.lineage, ranges, files } }
}

async function* one<T>(piece: T): AsyncGenerator<T> {
  yield piece
}

const profileOf = (
  version: RegisteredVersion,
  before: RegisteredVersion | undefined,
  hasHistory = true,
) =>
  ratingsProfile({
    read: (ranges) => one(ranges.length === 0 ? [] : IN_TOPIC),
    ...(hasHistory ? { history: () => one(IN_FILES) } : {}),
    ...{ version, before, golden: GOLDEN },
  })

describe('the profile of a training on files and a topic', () => {
  it('knows the golden pairs of both', async () => {
    const profile = await profileOf(trainedOn(2, 2, [HISTORY]), undefined)
    expect([...profile!.trained]).toEqual([1, 1, 0])
    const topicAlone = await profileOf(trainedOn(2, 2, []), undefined, false)
    expect([...topicAlone!.trained]).toEqual([0, 1, 0])
  })

  it('takes files for old where the version before was trained on the same', async () => {
    const candidate = trainedOn(2, 2, [HISTORY])
    const newOnes = async (before: RegisteredVersion): Promise<number> =>
      (await profileOf(candidate, before))!.facts.newObservations
    expect(await newOnes(trainedOn(1, 1, [HISTORY]))).toBe(1)
    expect(await newOnes(trainedOn(1, 1, []))).toBe(3)
    expect(await newOnes(trainedOn(1, 0, [{ file: 'old.csv', sha256: 'b' }]))).toBe(4)
  })

  it('is there for files alone, and not where neither can be read', async () => {
    const profile = await profileOf(trainedOn(2, 0, [HISTORY]), undefined)
    expect(profile?.facts.newObservations).toBe(2)
    expect(await profileOf(trainedOn(2, 0, [HISTORY]), undefined, false)).toBeUndefined()
  })
})
