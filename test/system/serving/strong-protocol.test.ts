import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { type RatingsTable, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { withoutUsers } from '../../../src/training/data/split-ratings.ts'
import { evaluateStrong, type StrongSummary } from '../../../src/training/evaluate/strong.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'
import { inProcess } from '../../cli/command-here.ts'
import { weir } from '../cli/command-process.ts'

const LEFT_OUT = '0.25'
const SEED = '3'

let folder: string
const at = (name: string): string => join(folder, name)

/** Uses of 300 users and 200 items in five groups: four of five uses are of the group of the user. */
function uses(): readonly Rating[] {
  const random = seededRandom(3)
  return Array.from({ length: 9000 }, (_, n) => {
    const user = n % 300
    const group = random.next() < 0.8 ? user % 5 : random.below(5)
    const item = 5 * random.below(40) + group
    return { user: `u${user}`, item: `i${item}`, rating: 1, timestamp: -1 }
  })
}

const USES = uses()

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-strong-'))
  writeFileSync(at('uses.csv'), USES.map(({ user, item }) => `${user},${item},1`).join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the same list for everyone has, the items of a training by their number of users. */
async function ofPopularItems(train: RatingsTable): Promise<StrongSummary> {
  const ids = new Set([
    ...train.users.map((id) => `${id}-U`),
    ...train.items.map((id) => `${id}-I`),
  ])
  const reader = {
    rows: async (_: string, keys: readonly string[]) =>
      keys.map((key) =>
        ids.has(key) ? { ok: true } : { ok: false, error: new WeirError('UNKNOWN_KEY', key) },
      ),
  } as unknown as ModelReader
  const counts = train.items.map(() => 0)
  for (const item of train.item) counts[item]! += 1
  const ranked = train.items.toSorted(
    (a, b) => counts[train.items.indexOf(b)]! - counts[train.items.indexOf(a)]!,
  )
  const options = { state: 'ALS_MODEL', query: {}, foldIn: 0.8, seed: 1, areCounts: true }
  return await evaluateStrong(
    reader,
    async (items, k) => {
      const own = new Set(items.map(({ item }) => item))
      return ranked.filter((item) => !own.has(item)).slice(0, k)
    },
    ratingsTable(USES),
    options,
  )
}

it('weir evaluate --protocol strong ranks for the users that weir train left out, from a part of their items', async () => {
  const files = ['--ratings', at('uses.csv'), '--data-dir', at('data')]
  const train = ['train', 'als', '--implicit', ...files, '--factors', '16', '--seed', SEED]
  const trained = await inProcess([...train, '--leave-out-users', LEFT_OUT])
  expect(trained.code, trained.stderr).toBe(0)
  const all = ratingsTable(USES)
  const { table, count } = withoutUsers(all, Number(LEFT_OUT), Number(SEED))
  expect(trained.stderr).toContain(
    `left out ${count} of ${all.users.length} users, with their ratings`,
  )

  await using job = weir(['run', 'als-serving', '--port', '0', '--json', '--data-dir', at('data')])
  const [, port = ''] = await job.printed(/"started","port":(\d+)/)
  await job.printed(/"event":"live","version":1/)
  // Without these terms a stranger's row would be that of explicit feedback.
  await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
  const { terms } = client.routing.states.find(({ name }) => name === 'ALS_MODEL')!
  const settings = { alpha: 1, regularization: 3, penalty: 'sqrt-n' }
  expect(terms).toEqual([{ version: 1, ...settings, gram: expect.any(String) }])
  const evaluate = ['evaluate', ...files, '--protocol', 'strong', '--port', port]
  const { code, stdout, stderr } = await inProcess([...evaluate, '--json'])
  expect(code, stderr).toBe(0)
  const found = JSON.parse(stdout) as StrongSummary
  const popular = await ofPopularItems(table)
  console.info({ found: found.ndcg100, popular: popular.ndcg100 })
  // The same users, and the same items of each.
  const { users, knownUsers, smallUsers, unknownItems, foldedIn } = popular
  expect(found).toMatchObject({ version: 1, foldIn: 0.8, seed: 1, users, knownUsers, smallUsers })
  expect(found).toMatchObject({ unknownItems, foldedIn })
  expect(knownUsers).toBe(table.users.length)
  expect(users + smallUsers).toBe(count)
  expect(found.ndcg100.low).toBeGreaterThan(popular.ndcg100.mean)
  expect(found.recall20.low).toBeGreaterThan(popular.recall20.mean)

  const printed = await inProcess(evaluate)
  expect(printed.stdout).toContain(`users      ${users} that version 1 has no row of`)
  expect(printed.stdout).toContain(`NDCG@100   ${found.ndcg100.mean.toFixed(4)}  (95 %: `)
})
