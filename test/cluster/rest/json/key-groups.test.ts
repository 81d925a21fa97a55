import { expect, it } from 'vitest'
import { keyGroupsJson } from '../../../../src/cluster/rest/json/key-groups.ts'
import { COUNT } from '../snapshot.ts'

it('says how the records of an operator are spread over key groups and subtasks', () => {
  expect(keyGroupsJson(COUNT, { 3: 60, 64: 20 })).toMatchObject({
    isKeyed: true,
    records: 80,
    subtaskSkew: 50,
    hottest: { keyGroup: 3, share: 0.75 },
    subtasks: [
      { subtask: 0, first: 0, last: 63, records: 60 },
      { subtask: 1, first: 64, last: 127, records: 20 },
    ],
    groupsPerBar: 1,
    bars: { 3: 60, 64: 20, length: 128 },
  })
})

it('adds key groups up where there are more than bars', () => {
  const json = keyGroupsJson({ ...COUNT, maxParallelism: 1000 }, { 0: 1, 3: 2, 999: 5 })
  expect(json).toMatchObject({ groupsPerBar: 4, bars: { 0: 3, 249: 5, length: 250 } })
})

it('says that an operator without keyed input has no key groups', () => {
  expect(keyGroupsJson(COUNT, {})).toMatchObject({ isKeyed: false, hottest: null, records: 0 })
})
