import { expect, it } from 'vitest'
import { distancesTo } from './distances.ts'

/** Edges written as `a b` or `a b 3`: from, to, steps. */
const edges = (...lines: readonly string[]) =>
  lines.map((line) => {
    const [from, to, steps = '1'] = line.split(' ')
    return { from: from!, to: to!, steps: Number(steps) }
  })

it('a file is as far as the shortest way to a target', () => {
  const graph = edges('a b', 'b c', 'a d 5', 'd c', 'e a')
  expect(Object.fromEntries(distancesTo(['c'], graph))).toEqual({ c: 0, b: 1, d: 1, a: 2, e: 3 })
})

it('a way of few steps is shorter than one of few edges', () => {
  expect(distancesTo(['c'], edges('a c 8', 'a b', 'b c')).get('a')).toBe(2)
})

it('with several targets the nearest counts', () => {
  expect(distancesTo(['b', 'x'], edges('a b 2', 'a x')).get('a')).toBe(1)
})

it('a folder is as near as the nearest file below it, at any depth', () => {
  const distances = distancesTo(['docs/guide/a.md'], edges('t docs 2', 'u docs/guide', 'v docs/b'))
  expect(distances.get('t')).toBe(2)
  expect(distances.get('u')).toBe(1)
  expect(distances.has('v')).toBe(false)
})

it('circles end', () => {
  expect(distancesTo(['a'], edges('a b', 'b a')).get('b')).toBe(1)
})

it('no way leads through a test file, unless it is a target', () => {
  const graph = edges('page a.test.ts', 'a.test.ts src')
  expect(distancesTo(['src'], graph).has('page')).toBe(false)
  expect(distancesTo(['a.test.ts'], graph).get('page')).toBe(1)
})
