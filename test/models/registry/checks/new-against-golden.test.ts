import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { NewAgainstGolden } from '../../../../src/models/registry/checks/new-against-golden.ts'

const WIDTH = 4

const ratingsOf = (seed: number, group: string, count: number, mean: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => ({
    group,
    rating: Math.min(5, Math.max(1, Math.round(mean + 0.9 * random.normal()))),
  }))
}

const manyItems = (seed: number) =>
  Array.from({ length: 300 }, (_, item) =>
    ratingsOf(seed * 1000 + item, String(item), 3 + (item % 30), 2.5 + (item % 5) / 2),
  ).flat()

describe('new ratings beside golden ones', () => {
  it.each([
    ['a few ones of a liked item', 4, 1, 12],
    ['a few fives of a disliked item', 2, 5, 12],
    ['as many honest ones as bad ones', 4.4, 1, 60],
  ])('name the item of %s', (_, honest, bad, count) => {
    const groups = new NewAgainstGolden([...manyItems(1), ...ratingsOf(2, 'target', 29, honest)])
    for (const { group, rating } of manyItems(3)) groups.add(group, rating, false)
    for (const { group, rating } of ratingsOf(4, 'target', count > 12 ? count : 0, honest)) {
      groups.add(group, rating, false)
    }
    for (let n = 0; n < count; n++) groups.add('target', bad, false)
    const worst = groups.worst(WIDTH)
    expect(worst?.group).toBe('target')
    expect(worst?.certain).toBeGreaterThan(0.1)
  })

  it('name an item whose bad ratings are hidden among honest ones, for old ratings count, too', () => {
    const groups = new NewAgainstGolden([...manyItems(1), ...ratingsOf(2, 'target', 15, 4.4)])
    for (const { rating } of ratingsOf(3, 'target', 200, 4.4)) groups.add('target', rating, true)
    for (const { rating } of ratingsOf(4, 'target', 120, 4.4)) groups.add('target', rating, false)
    for (let n = 0; n < 60; n++) groups.add('target', 1, false)
    expect(groups.worst(WIDTH)?.group).toBe('target')
    expect(groups.worst(WIDTH)?.certain).toBeGreaterThan(0.15)
  })

  it('are right after an honest change that golden ratings have, too', () => {
    const groups = new NewAgainstGolden([...manyItems(1), ...ratingsOf(2, 'target', 15, 2.5)])
    for (const { rating } of ratingsOf(3, 'target', 200, 4.4)) groups.add('target', rating, true)
    for (const { rating } of ratingsOf(4, 'target', 120, 2.5)) groups.add('target', rating, false)
    expect(groups.worst(WIDTH)?.certain).toBe(0)
  })

  it('do not differ where they are honest', () => {
    let refused = 0
    for (let seed = 0; seed < 100; seed++) {
      const groups = new NewAgainstGolden(manyItems(seed))
      for (const { group, rating } of manyItems(seed + 200)) groups.add(group, rating, true)
      for (const { group, rating } of manyItems(seed + 500)) groups.add(group, rating, false)
      if ((groups.worst(WIDTH)?.certain ?? 0) > 0) refused++
    }
    expect(refused).toBeLessThanOrEqual(3)
  })

  it('say nothing of an item with fewer than five of either', () => {
    const groups = new NewAgainstGolden([...ratingsOf(1, 'a', 4, 5), ...ratingsOf(2, 'b', 5, 5)])
    for (let n = 0; n < 50; n++) groups.add('a', 1, false)
    for (let n = 0; n < 4; n++) groups.add('b', 1, false)
    expect(groups.worst(WIDTH)).toBeUndefined()
  })

  it('are certain of an item whose golden ratings are all alike only as far as others differ', () => {
    const alike = Array.from({ length: 5 }, () => ({ group: 'alike', rating: 4 }))
    const groups = new NewAgainstGolden([...alike, ...ratingsOf(1, 'other', 200, 3)])
    for (let n = 0; n < 5; n++) groups.add('alike', 5, false)
    expect(groups.worst(WIDTH)?.certain).toBe(0)
  })
})
