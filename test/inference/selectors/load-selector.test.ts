import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadSelector } from '../../../src/inference/selectors/load-selector.ts'
import { selectBy } from './contract.ts'

const MODULE = `
const first = {
  name: 'first',
  init: (arms) => new Float32Array(arms),
  select: (state) => ({
    run: [0],
    mirrors: [],
    probabilities: state.map((_, arm) => (arm === 0 ? 1 : 0)),
    explored: false,
  }),
  combine: (state, selection, [{ arm, scores }]) => ({ arm, scores, confidence: 1 }),
  observe: (state) => state,
}
export default first
export const made = ({ arm = 0 }) => ({
  ...first,
  select: (state) => ({ ...first.select(state), run: [arm] }),
})
export const half = { name: 'half', init: first.init }
export const broken = () => {
  throw new Error('no such policy')
}
`
let folder = ''
let file = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-selector-'))
  file = join(folder, 'bandit.mjs')
  writeFileSync(file, MODULE)
})
afterAll(() => rmSync(folder, { recursive: true }))

it('loads the default export of a module, or one by name that is made of parameters', async () => {
  const first = await loadSelector(file)
  expect(selectBy(first, first.init(3)).run).toEqual([0])
  const made = await loadSelector(`${file}#made`, { arm: 2 })
  expect(selectBy(made, made.init(3)).run).toEqual([2])
})

it.each([
  ['#other', 'has no export "other": it exports broken, default, half, made'],
  ['#half', 'lacks the function select, combine, observe'],
  ['#broken', 'cannot be made: no such policy'],
])('refuses the export %s', async (name, message) => {
  const loading = loadSelector(`${file}${name}`)
  await expect(loading).rejects.toThrow(message)
  await expect(loading).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

it('refuses a module that is not there', async () => {
  const loading = loadSelector(join(folder, 'none.mjs'))
  await expect(loading).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})
