import { expect, it } from 'vitest'
import { KnownPaths, pathOf } from '../../src/http/known-paths.ts'

const paths = new KnownPaths()
paths.add({ url: '/jobs', method: ['GET', 'HEAD'] })
paths.add({ url: '/jobs', method: 'POST' })
paths.add({ url: '/jobs/overview', method: 'GET' })
paths.add({ url: '/jobs/:id', method: 'PATCH' })
paths.add({ url: '/jobs/:id/plan', method: 'GET' })
paths.add({ url: '/files/*', method: 'GET' })

it.each([
  ['/jobs', ['GET', 'HEAD', 'POST']],
  ['/jobs/1', ['PATCH']],
  ['/jobs/overview', ['GET']],
  ['/jobs/1/plan', ['GET']],
  ['/files/a/b', ['GET']],
  ['/jobs/', []],
  ['/jobs/1/other', []],
  ['/', []],
])('%s has the methods %j', (path, methods) => {
  expect(paths.methodsOf(path)).toEqual(methods)
})

it('a path has no query', () => {
  expect(['/jobs?x=/y', '/jobs'].map(pathOf)).toEqual(['/jobs', '/jobs'])
})
