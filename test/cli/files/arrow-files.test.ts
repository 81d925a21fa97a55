import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as arrow from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { recordedIo } from '../recorded-io.ts'

/** Files that pyarrow wrote (make.py in it), and csv of the same rows. */
const FILES = join(import.meta.dirname, 'arrow')
const CSV = join(import.meta.dirname, 'parquet')

type GivenFlags = Readonly<Record<string, string | boolean>>

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-arrow-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function read(place: string, flags: GivenFlags = {}) {
  const { io, err } = recordedIo()
  const table = await ratingsOfFile(place, ratingsReadingOf(new Flags(flags), io))
  return { ratings: [...ratingsOf(table)], err }
}

const readFile = (name: string, flags?: GivenFlags) => read(join(FILES, name), flags)

/** A file with some bytes. */
function fileOf(bytes: Uint8Array): string {
  const place = join(folder, 'changed.feather')
  writeFileSync(place, bytes)
  return place
}

describe.each([
  ...['uncompressed', 'lz4', 'zstd', 'words', 'words-lz4', 'words-zstd', 'large', 'views'].map(
    (name) => `${name}.feather`,
  ),
  ...['stream.arrows', 'words.arrows'],
])('a file of pyarrow (%s)', (name) => {
  it('gives the ratings of the same rows as csv', async () => {
    const { ratings } = await readFile(`packings/${name}`)
    expect(ratings).toHaveLength(40)
    expect(ratings).toEqual((await read(join(CSV, 'packings/none.csv'))).ratings)
  })
})

it.each([
  { name: 'integers', types: 'integers of 8 to 64 bits and times in nanoseconds' },
  { name: 'floats', types: 'floats of 32 and 64 bits and words of a dictionary', bad: true },
  { name: 'decimals', types: 'decimals of up to 38 digits and dates' },
  { name: 'events', types: 'kinds of events', flags: { weight: 'event=view:1,cart:3' } },
  { name: 'events', types: 'yes and no', flags: { weight: 'liked=true:1,false:-1' } },
])('gives the same ratings as csv: $types', async ({ name, flags = {}, bad = false }) => {
  const all = { ...flags, ...(bad ? { 'bad-lines': 'count' } : {}) }
  const { ratings } = await readFile(`types/${name}.feather`, all)
  expect(ratings.length).toBeGreaterThan(30)
  expect(ratings).toEqual((await read(join(CSV, `types/${name}.csv`), all)).ratings)
})

it('floats of 16 bits and dates in milliseconds are numbers and times', async () => {
  const { ratings } = await readFile('types/halves.feather')
  expect(ratings.map(({ rating, timestamp }) => [rating, timestamp])).toEqual([
    [1.5, Date.UTC(2015, 2, 9, 23, 32)],
    [4, 86_400_000],
  ])
})

it('takes the names of columns as names, and says which it reads', async () => {
  const { ratings, err } = await readFile('types/names-are-numbers.feather', {
    columns: 'user=1,item=0,rating=2',
  })
  expect(ratings.map(({ user, item, rating }) => [user, item, rating])).toEqual([
    ['7', '1', 4],
    ['8', '2', 5],
  ])
  expect(err.join()).toContain('user = column 2 (1), item = column 1 (0)')
})

describe.each(['file', 'stream'] as const)('a %s that the library wrote', (kind) => {
  const table = new arrow.Table({
    user: arrow.vectorFromArray(['ada', 'bob', 'zoë'], new arrow.Utf8()),
    item: arrow.vectorFromArray([7n, 2n ** 60n + 3n, -1n], new arrow.Int64()),
    rating: arrow.vectorFromArray([4.5, null, 3], new arrow.Float64()),
  })

  it('gives its rows, and a null is a bad line', async () => {
    const place = fileOf(arrow.tableToIPC(table, kind))
    const { ratings, err } = await read(place, { 'bad-lines': 'count' })
    expect(ratings.map(({ user, item, rating }) => [user, item, rating])).toEqual([
      ['ada', '7', 4.5],
      ['zoë', '-1', 3],
    ])
    expect(err.join()).toContain(`bob,${2n ** 60n + 3n},`)
  })

  it('is cut off at each eighth byte, where messages end, with a typed error, never with fewer rows', async () => {
    const batches = [table, table, table].flatMap(({ batches }) => batches)
    const bytes = arrow.tableToIPC(new arrow.Table(batches), kind)
    const flags = { 'bad-lines': 'count' }
    expect((await read(fileOf(bytes), flags)).ratings).toHaveLength(6)
    for (let end = 8; end < bytes.length; end += 8) {
      const reading = read(fileOf(bytes.subarray(0, end)), flags)
      await expect(reading, `${end}`).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    }
  })
})

it('a damaged file gives all ratings or a typed error, whatever byte is changed', async () => {
  const original = readFileSync(join(FILES, 'packings/zstd.feather'))
  const outcomes = new Set<unknown>()
  for (let at = 8; at < original.length; at += 13) {
    const bytes = Buffer.from(original)
    bytes[at]! ^= 4
    const outcome = await read(fileOf(bytes)).then(
      ({ ratings }) => ratings.length,
      (error: unknown) => (error as { code?: unknown }).code,
    )
    outcomes.add(outcome)
  }
  expect([...outcomes].toSorted()).toEqual([40, 'MALFORMED_DATA', 'UNPARSABLE_RECORD'])
})

describe('rows that are no ratings', () => {
  it('are bad lines: nulls and empty ids; a missing time is no time', async () => {
    const { ratings, err } = await readFile('others/nulls.feather', { 'bad-lines': 'count' })
    expect(ratings.map(({ user, timestamp }) => [user, timestamp])).toEqual([
      ['ada', -1],
      ['a "quoted", name', 1_425_943_920_000],
    ])
    expect(err.join('\n')).toContain('left out 4 bad lines of the 7')
  })

  it('are those with a line break in an id, or with one that is not UTF-8', async () => {
    const flags = { 'bad-lines': 'count' }
    const usersOf = async (name: string) =>
      (await readFile(`others/${name}.feather`, flags)).ratings.map(({ user }) => user)
    expect(await usersOf('line-breaks')).toEqual(['c'])
    expect(await usersOf('latin-1')).toEqual(['ada'])
  })

  it('are all of a file without rows', async () => {
    await expect(readFile('others/empty.feather')).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
  })
})

describe('columns that are not read', () => {
  it('change nothing where no rating is in them', async () => {
    expect((await readFile('others/nested.feather')).ratings).toHaveLength(2)
  })

  it.each([
    { name: 'nested-item', problem: 'the column "item" of .* is a list, a map or a group' },
    { name: 'clock', problem: 'the column "time" of .* is of the type Time' },
    { name: 'bytes', problem: 'the column "user" of .* is of bytes that are no text' },
  ])('are named in the error ($name)', async ({ name, problem }) => {
    const reading = readFile(`others/${name}.feather`)
    await expect(reading).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    await expect(reading).rejects.toThrow(new RegExp(problem))
  })
})
