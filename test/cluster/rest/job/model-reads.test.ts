import { expect, it } from 'vitest'
import { modelsView } from '../../../../src/cluster/rest/job/model-reads.ts'
import { registeredVersion } from '../../../models/registry/registered-version.ts'

it('the versions of a job are those of the registry, those that it loads, and those that are not whole', () => {
  const versions = new Map([['m', new Map([[1, { ...registeredVersion(1), name: 'm' }]])]])
  const view = modelsView({
    ...{ model: 'm', state: 'ALS_MODEL', registry: { models: new Map(), versions } },
    served: {
      ...{ name: 'ALS_MODEL', kind: 'vector', dimension: 4, versions: [1, 2, 3], liveVersion: 1 },
    },
    unfinished: [
      { number: 3, state: 'incomplete' },
      { number: 4, state: 'publishing' },
    ],
  })
  expect(view.versions.map(({ number, state, isLoaded }) => [number, state, isLoaded])).toEqual([
    [4, 'publishing', false],
    [3, 'incomplete', true],
    [2, 'unregistered', true],
    [1, 'candidate', true],
  ])
})
