import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { forgetHistories } from '../../../src/jobs/erasure/histories.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'
import type { RatingsPlace } from '../../../src/jobs/erasure/places.ts'
import { asKafka, fill, newLog, recordsIn } from './log-topics.ts'

const PLACES: readonly RatingsPlace[] = [
  { place: 'observations', topic: 'ratings' },
  { place: 'quarantine', topic: 'refused' },
]
const options = { person: new Person('5'), clock: systemClock }

it('a tombstone of a person is in each partition of the ratings once, however often it is written', async () => {
  const log = newLog()
  const ratings = [{ value: '6,1,1' }, { value: '6,2,2', partition: 1 }]
  await fill(log, 'ratings', ratings, { partitions: 2 })
  await fill(log, 'refused', [])
  const parts = await forgetHistories(log, PLACES, options)
  const part = { place: 'histories', topic: 'ratings', count: 2, did: 'announced' }
  expect(parts).toEqual([part])
  const others = ['0:0 -=6,1,1', '1:0 -=6,2,2']
  expect(await recordsIn(log, 'ratings')).toEqual([others[0], '0:1 5=-', others[1], '1:1 5=-'])
  expect(await forgetHistories(log, PLACES, options)).toEqual([part])
  expect(await recordsIn(log, 'ratings')).toEqual([others[0], '0:2 5=-', others[1], '1:2 5=-'])
  expect(await recordsIn(log, 'refused')).toEqual([])
})

it('a tombstone of a person is behind the ratings of a Kafka, where older ones stay', async () => {
  const log = newLog()
  await fill(log, 'ratings', [{ value: '5,1,1' }], { partitions: 1 })
  for (const _ of [1, 2]) await forgetHistories(asKafka(log), PLACES.slice(0, 1), options)
  expect(await recordsIn(log, 'ratings')).toEqual(['0:0 -=5,1,1', '0:1 5=-', '0:2 5=-'])
})
