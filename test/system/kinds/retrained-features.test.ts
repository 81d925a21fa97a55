import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandResult, jsonLines } from '../cli/command-process.ts'

let folder: string
let data: string
const at = (name: string): string => join(folder, name)
const ITEMS = 30
/** An item of the file without ratings. */
const NEW_ITEM = 'film-99'

const retrain = (...flags: string[]): Promise<CommandResult> =>
  inProcess([
    ...['retrain', '--once', '--no-serving', '--observations', 'ratings', '--json'],
    ...['--data-dir', data, ...flags],
  ])

async function run(args: readonly string[], input?: string): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data], input)
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

function features(newYear: number): string {
  const lines = Array.from({ length: ITEMS }, (_, n) => `film-${n},kind ${n % 3},${1990 + n}`)
  return ['item,genre,year', ...lines, `${NEW_ITEM},kind 1,${newYear}`].join('\n')
}

/** The version that a retraining made, and its hyperparameters. */
function candidateOf({ stdout }: CommandResult) {
  const version = jsonLines(stdout).at(-1)!['version'] as {
    number: number
    lineage: { hyperparameters: Record<string, unknown> }
  }
  return { number: version.number, hyperparameters: version.lineage.hyperparameters }
}

/** Versions in which an item has a row. */
async function versionsWith(item: string): Promise<readonly string[]> {
  await using topics = new LogTopics(join(data, 'log'))
  const found = new Set<string>()
  await scanTopic(topics, 'als-model', (record) => {
    const key = record.key()
    const text = key === null ? '' : new TextDecoder().decode(key)
    if (text.startsWith(`${item}-I`) && record.value() !== null) found.add(text)
    return true
  })
  return [...found].sort()
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-features-'))
  data = at('data')
  const ratings = [...generateRatings({ users: 60, items: ITEMS, ratings: 1200 })].map((one) => ({
    ...one,
    item: `film-${Number(one.item) % ITEMS}`,
  }))
  const text = ratings.map((rating) => formatRating(rating, 'csv')).join('\n')
  writeFileSync(at('u.csv'), text)
  writeFileSync(at('films.csv'), features(1999))
  await run([
    ...['train', 'bmf', '--ratings', at('u.csv'), '--item-features', at('films.csv')],
    ...['--factors', '4', '--sweeps', '6', '--threads', '0'],
  ])
  await run(['topic', 'create', 'ratings', '--partitions', '1'])
  await run(['topic', 'produce', 'ratings'], `${text}\n`)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a retraining goes on with the features of the live version, as they are in its file by then', async () => {
  const first = await retrain()
  expect(first.code, first.stderr).toBe(0)
  const second = candidateOf(first)
  expect(second).toMatchObject({
    number: 2,
    hyperparameters: { trainer: 'bmf', itemFeaturesFile: at('films.csv') },
  })
  expect(await versionsWith(NEW_ITEM)).toEqual([`${NEW_ITEM}-I@1`, `${NEW_ITEM}-I@2`])

  // The same ratings and features are known; with other features it is another training.
  expect(jsonLines((await retrain()).stdout)).toMatchObject([{ event: 'exists' }])
  writeFileSync(at('films.csv'), features(1950))
  const third = candidateOf(await retrain())
  expect(third.number).toBe(3)
  expect(third.hyperparameters['itemFeaturesSha256']).not.toBe(
    second.hyperparameters['itemFeaturesSha256'],
  )

  rmSync(at('films.csv'))
  const gone = await retrain()
  expect(gone.code).toBe(2)
  expect(gone.stderr).toContain(
    `the features of items at ${at('films.csv')} cannot be read: give --item-features FILE`,
  )
  const without = candidateOf(await retrain('--no-features'))
  expect(without.hyperparameters).not.toHaveProperty('itemFeaturesFile')
  expect(await versionsWith(NEW_ITEM)).not.toContain(`${NEW_ITEM}-I@${without.number}`)
  const none = await retrain('--no-features', '--item-features', at('u.csv'))
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('exclude each other') })
})

/** The features of the file as records of a topic: the id, a tab, a JSON object. */
function records(newYear: number): string {
  const [, ...lines] = features(newYear).split('\n')
  const objects = lines.map((line) => {
    const [id, genre, year] = line.split(',')
    return `${id}\t${JSON.stringify({ genre, year: Number(year) })}`
  })
  return `${objects.join('\n')}\n`
}

it('features may come from a topic, which a retraining reads again', async () => {
  const produce = (year: number) =>
    run(['topic', 'produce', 'films', '--key-separator', '\t'], records(year))
  await run(['topic', 'create', 'films', '--partitions', '2'])
  await produce(1999)
  const made = await retrain('--item-features', 'topic:films')
  expect(made.code, made.stderr).toBe(0)
  const first = candidateOf(made)
  expect(first.hyperparameters).toMatchObject({
    trainer: 'bmf',
    itemFeaturesFile: 'topic:films',
  })
  expect(await versionsWith(NEW_ITEM)).toContain(`${NEW_ITEM}-I@${first.number}`)
  await run(['model', 'promote', String(first.number), '--force', 'a test'])
  expect(jsonLines((await retrain()).stdout)).toMatchObject([{ event: 'exists' }])
  await produce(1950)
  const second = candidateOf(await retrain())
  expect(second.number).toBe(first.number + 1)
  const none = await retrain('--item-features', 'topic:movies')
  expect(none.code).not.toBe(0)
  expect(none.stderr).toContain('the features of items at topic:movies cannot be read')
})
