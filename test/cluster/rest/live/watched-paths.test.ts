import { expect, it } from 'vitest'
import { checkWatchedPaths } from '../../../../src/cluster/rest/live/watched-paths.ts'

const JOB = `/jobs/${'a'.repeat(32)}`
const VERTEX = `${JOB}/vertices/${'b'.repeat(32)}`

it('accepts paths that follow from the snapshot of a job, each once', () => {
  const paths = [
    '/overview',
    JOB,
    `${JOB}/checkpoints/details/7`,
    `${VERTEX}/metrics?get=0.numRecordsIn`,
    `/weir${JOB}/history?metrics=a.b&last=1`,
  ]
  expect(checkWatchedPaths([...paths, JOB])).toEqual(paths)
})

it.each([
  ['/weir/events'],
  [`${VERTEX}/flamegraph`],
  [`${JOB}/savepoints/${'c'.repeat(32)}`],
  ['/taskmanagers/x/log'],
  ['http://other/overview'],
  [`${JOB}/../../etc`],
  [`/overview?${'x'.repeat(3000)}`],
])('refuses to watch %s', (path) => {
  expect(() => checkWatchedPaths([path])).toThrow('cannot be watched')
})

it('refuses too many paths and none', () => {
  const many = Array.from({ length: 17 }, (_, i) => `/overview?${i}`)
  expect(() => checkWatchedPaths(many)).toThrow('watches 1 to 16 paths, not 17')
  expect(() => checkWatchedPaths([])).toThrow('watches 1 to 16 paths, not 0')
})
