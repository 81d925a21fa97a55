import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rescorer } from '../../../src/gateway/port/rescorer.ts'
import { loadRescorer, rescored } from '../../../src/gateway/recommender/rescorer.ts'

const LIST = { route: 'recommend', ids: ['ada'], params: undefined }
const ITEMS = [
  { id: 'a', value: 4 },
  { id: 'b', value: 3 },
  { id: 'c', value: 2 },
]

describe('a rescored list', () => {
  it('is ordered by the values that the rescorer gives, equal ones as before, without what it leaves out', async () => {
    const turned = await rescored(
      (items) => items.map(({ id, value }) => ({ id, value: -value })),
      ITEMS,
      LIST,
    )
    expect(turned.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
    const equal = await rescored(async ([, b, c]) => [b!, { ...c!, value: 3 }], ITEMS, LIST)
    expect(equal).toEqual([ITEMS[1], { id: 'c', value: 3 }])
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'did not return a list of { id, value }'],
    ['ids alone', ['a'], 'gave the item undefined the value undefined'],
    ['no number', [{ id: 'a', value: Number.NaN }], 'gave the item "a" the value NaN'],
    ['another item', [{ id: 'x', value: 1 }], 'returned the item "x", which it did not get'],
    ['an item twice', [ITEMS[0], ITEMS[0]], 'returned the item "a", which it did not get, or'],
  ])('fails where the rescorer returns %s', async (_, answer, message) => {
    const rescorer = (() => answer) as Rescorer
    const failed = rescored(rescorer, ITEMS, LIST)
    await expect(failed).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining(message),
    })
  })

  it('fails with what the rescorer throws', async () => {
    const rescorer: Rescorer = () => {
      throw new TypeError('stock is undefined')
    }
    await expect(rescored(rescorer, ITEMS, LIST)).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: 'the rescorer failed: stock is undefined',
    })
  })
})

describe('the module of a rescorer', () => {
  let folder: string
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-rescorer-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('exports it as its default', async () => {
    const path = file('half.mjs', 'export default (items) => items.slice(1)')
    expect(await rescored(await loadRescorer(path), ITEMS, LIST)).toEqual(ITEMS.slice(1))
  })

  it.each([
    ['none.mjs', 'export const rescore = () => []', 'is no rescorer: end it with "export default'],
    ['broken.mjs', 'export default (', 'cannot be loaded'],
  ])('%s is refused', async (name, text, message) => {
    await expect(loadRescorer(file(name, text))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    })
  })
})
