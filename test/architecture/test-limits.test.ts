import { expect, it } from 'vitest'
import { filesOf, textOf } from './source-tree.ts'

/** The time of a system test or of its hook, ms, as `vitest.config.ts` has it: CI machines are up to three times slower. */
const LEAST_MS = 300_000

/** Limits of time that a text sets for its tests and hooks, ms. */
const limitsIn = (text: string): readonly number[] =>
  [/\},\s+([\d_]{3,}),?\s*\)/g, /\{[^{}]*\btimeout: ([\d_]+)[^{}]*\},\s+(?:async )?\(/g].flatMap(
    (limit) => [...text.matchAll(limit)].map(([, ms]) => Number(ms!.replaceAll('_', ''))),
  )

it('no system test has less time than the others', () => {
  const all = [...filesOf('test/system'), ...filesOf('test/recovery')]
  // Processes and threads of tests have none.
  const files = all.filter((file) => textOf(file).includes("from 'vitest'"))
  const short = files.flatMap((file) =>
    limitsIn(textOf(file))
      .filter((ms) => ms < LEAST_MS)
      .map((ms) => `${file} gives a test ${ms} ms: take the limit out`),
  )
  expect(short).toEqual([])
})

/** Calls of a text that block their thread until a program ends, however long it takes. */
const endlessIn = (text: string): readonly string[] =>
  [...text.matchAll(/\b(?:execFileSync|execSync|spawnSync)\((?:[^()]|\([^()]*\))*\)/g)]
    .map(([call]) => call)
    .filter((call) => !call.includes('timeout'))

it('no system test blocks its thread for a program without a limit: that of the test does not end it', () => {
  const files = [...filesOf('test/system'), ...filesOf('test/recovery')]
  expect(
    files.flatMap((file) => endlessIn(textOf(file)).map((call) => `${file}: ${call}`)),
  ).toEqual([])
})

it('a call that blocks its thread is found where it has no limit', () => {
  const [endless, limited] = ["spawnSync('a', [join(b, 'c')])", "execSync('a', { timeout: 5 })"]
  expect(endlessIn(`${endless}\n${limited}`)).toEqual([endless])
})

it.each([
  ["it('a', async () => {\n  await b()\n}, 60_000)", 60_000],
  ["it.each(c)(\n  'a',\n  async () => {\n    b()\n  },\n  30_000,\n)", 30_000],
  ["it('a', { ...needs(b, 'c'), timeout: 240_000 }, async () => {", 240_000],
  ["it('a', { timeout: 180_000 }, () => {", 180_000],
])('the limit of %s is found', (text, ms) => {
  expect(limitsIn(text)).toEqual([ms])
})

it.each([
  'client.rows(keys, { deadlineMs: 200 })',
  "tool(['--timeout', '500'])",
  'expect(a).toBeLessThan(\n  15_000,\n)',
])('%s is no limit of a test', (text) => {
  expect(limitsIn(text)).toEqual([])
})
