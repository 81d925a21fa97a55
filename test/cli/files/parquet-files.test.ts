import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { ratingPieces, ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { historyHashes, historyRatings } from '../../../src/models/observations/history.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { recordedIo } from '../recorded-io.ts'

/** Files that pyarrow wrote (make.py in it). */
const FILES = join(import.meta.dirname, 'parquet')

type GivenFlags = Readonly<Record<string, string | boolean>>

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-parquet-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function read(place: string, flags: GivenFlags = {}) {
  const { io, err } = recordedIo()
  const table = await ratingsOfFile(place, ratingsReadingOf(new Flags(flags), io))
  return { ratings: [...ratingsOf(table)], err }
}

const readFile = (name: string, flags?: GivenFlags) => read(join(FILES, name), flags)

/** A copy of a file with other bytes. */
function changed(name: string, change: (bytes: Buffer) => Uint8Array): string {
  const place = join(folder, 'changed.parquet')
  writeFileSync(place, change(readFileSync(join(FILES, name))))
  return place
}

describe.each([
  ...['none', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'delta', 'pages-of-version-2'],
])('a Parquet file of pyarrow (%s)', (name) => {
  it('gives the ratings of the same rows as csv', async () => {
    const { ratings } = await readFile(`packings/${name}.parquet`)
    expect(ratings).toHaveLength(40)
    expect(ratings).toEqual((await readFile('packings/none.csv')).ratings)
  })
})

it.each([
  { name: 'integers', types: 'integers of 8 to 64 bits and times in nanoseconds' },
  { name: 'floats', types: 'floats of 32 and 64 bits and words of a dictionary', bad: true },
  { name: 'decimals', types: 'decimals of up to 38 digits and dates' },
  { name: 'of-spark', types: 'decimals and times as Spark writes them' },
  { name: 'events', types: 'kinds of events', flags: { weight: 'event=view:1,cart:3' } },
  { name: 'events', types: 'yes and no', flags: { weight: 'liked=true:1,false:-1' } },
])('gives the same ratings as csv: $types', async ({ name, flags = {}, bad = false }) => {
  const all = { ...flags, ...(bad ? { 'bad-lines': 'count' } : {}) }
  const { ratings } = await readFile(`types/${name}.parquet`, all)
  expect(ratings.length).toBeGreaterThan(30)
  expect(ratings).toEqual((await readFile(`types/${name}.csv`, all)).ratings)
})

it('keeps ids of more digits than a floating-point number has', async () => {
  const users = async (name: string) => {
    const { ratings } = await readFile(`types/${name}.parquet`)
    return new Set(ratings.map(({ user }) => user))
  }
  expect([...(await users('integers'))]).toContain(String(2n ** 60n + 3n))
  expect([...(await users('decimals'))]).toContain(String(10n ** 30n + 3n))
})

it('takes the names of columns as names, even where they are numbers', async () => {
  const { ratings, err } = await readFile('types/names-are-numbers.parquet', {
    columns: 'user=1,item=0,rating=2',
  })
  expect(ratings.map(({ user, item, rating }) => [user, item, rating])).toEqual([
    ['7', '1', 4],
    ['8', '2', 5],
  ])
  expect(err.join()).toContain('user = column 2 (1), item = column 1 (0)')
})

it('a time of the first days of 1970 stays one', async () => {
  const [first] = (await readFile('types/early.parquet')).ratings
  expect(first?.timestamp).toBe(60_000)
})

it('says the columns that it reads, and needs no separator', async () => {
  const { err } = await readFile('packings/zstd.parquet', { separator: 'tab' })
  expect(err.join()).toContain(
    'user = column 4 (userId), item = column 2 (movieId), rating = column 5 (rating), time = column 3 (timestamp)',
  )
})

it('gives the same ratings in pieces', async () => {
  const place = join(FILES, 'packings', 'gzip.parquet')
  const { io } = recordedIo()
  const found: Rating[] = []
  for await (const piece of ratingPieces(place, ratingsReadingOf(new Flags({}), io))) {
    found.push(...piece)
  }
  expect(found).toEqual((await readFile('packings/none.csv')).ratings)
})

it('is read among other files of a folder', async () => {
  const { ratings } = await read(join(FILES, 'packings'))
  expect(ratings).toHaveLength(9 * 40)
})

it('gives the bytes of the file, as they are stored, to who hashes them', async () => {
  const place = join(FILES, 'packings', 'snappy.parquet')
  const hash = createHash('sha256')
  const { io } = recordedIo()
  const facts = {
    onPiece: (piece: Uint8Array) => hash.update(piece),
    onEvent: () => {},
    onRating: () => {},
    onExample: () => {},
  }
  await ratingsOfFile(place, ratingsReadingOf(new Flags({}), io), { facts })
  const whole = createHash('sha256').update(readFileSync(place))
  expect(hash.digest('hex')).toBe(whole.digest('hex'))
})

it.each([
  { table: 'packings/brotli', lines: 'packings/none' },
  { table: 'types/floats', lines: 'types/floats' },
])('is a history of a retraining as the same rows in csv are: $table', async ({ table, lines }) => {
  const read = async (name: string) => {
    const history = { places: [join(FILES, name)], reading: { badLines: 'count' as const } }
    const found: unknown[] = []
    const places: unknown[] = []
    const pieces = historyRatings(history, ({ file }) => places.push(file.read))
    for await (const piece of pieces) found.push(...piece)
    return { found, places }
  }
  expect(await read(`${table}.parquet`)).toEqual(await read(`${lines}.csv`))
})

it('is a part of a history by the bytes that are stored', async () => {
  const history = { places: [join(FILES, 'packings', 'brotli.parquet')] }
  const hashes: unknown[] = []
  const pieces = historyRatings(history, ({ file }) => hashes.push(file.sha256))
  for await (const piece of pieces) expect(piece.length).toBeGreaterThan(0)
  expect(hashes).toEqual((await historyHashes(history)).map(({ sha256 }) => sha256))
})

describe('rows that are no ratings', () => {
  it('are bad lines: nulls and empty ids; a missing time is no time', async () => {
    const { ratings, err } = await readFile('others/nulls.parquet', { 'bad-lines': 'count' })
    expect(ratings.map(({ user, timestamp }) => [user, timestamp])).toEqual([
      ['ada', -1],
      ['a "quoted", name', 1_425_943_920_000],
    ])
    expect(err.join('\n')).toContain('left out 4 bad lines of the 7')
    await expect(readFile('others/nulls.parquet')).rejects.toThrow(
      /line 3 of the ratings, ",y,2,.*": expected user, item and rating/,
    )
  })

  it('are those with a line break in an id', async () => {
    const { ratings } = await readFile('others/line-breaks.parquet', { 'bad-lines': 'count' })
    expect(ratings.map(({ user }) => user)).toEqual(['c'])
  })

  it('are those with an id that is not UTF-8, which no other id becomes equal to', async () => {
    const { ratings, err } = await readFile('others/latin-1.parquet', { 'bad-lines': 'count' })
    expect(ratings.map(({ user }) => user)).toEqual(['ada'])
    expect(err.join('\n')).toContain('expected UTF-8')
  })
})

describe('columns that are not read', () => {
  it('change nothing where no rating is in them', async () => {
    expect((await readFile('others/nested.parquet')).ratings).toHaveLength(2)
  })

  it.each([
    { name: 'nested-item', problem: 'the column "item" of .* is a list, a map or a group' },
    { name: 'clock', problem: 'the column "time" of .* is of the type TIME' },
    { name: 'bytes', problem: 'the column "user" of .* is of bytes that are no text' },
    { name: 'encrypted-column', problem: 'the column "user" of .* is encrypted' },
  ])('are named in the error ($name)', async ({ name, problem }) => {
    const reading = readFile(`others/${name}.parquet`)
    await expect(reading).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    await expect(reading).rejects.toThrow(new RegExp(problem))
    await expect(reading).rejects.toThrow(/read others \(--columns\), or write the file/)
  })
})

describe('a file that cannot be read', () => {
  it('is one without rows', async () => {
    await expect(readFile('others/empty.parquet')).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
  })

  it('is an encrypted one', async () => {
    const reading = readFile('others/encrypted.parquet')
    await expect(reading).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    await expect(reading).rejects.toThrow(/encrypted Parquet file.*write it without encryption/)
  })

  it.each([4, 5, 8, 11, 12, 100, 1000, 4000])('is one that ends at byte %d', async (end) => {
    const reading = read(changed('packings/snappy.parquet', (bytes) => bytes.subarray(0, end)))
    await expect(reading).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    await expect(reading).rejects.toThrow(/damaged or cut off: .*get it again/)
  })

  it('is one from whose middle bytes are missing', async () => {
    const cut = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 400), bytes.subarray(900)])
    const reading = read(changed('packings/zstd.parquet', cut))
    await expect(reading).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
  })

  it('is a damaged one: a byte that is changed gives all ratings or a typed error', async () => {
    const { length } = readFileSync(join(FILES, 'packings', 'gzip.parquet'))
    // Bytes 2312 and 2900 are of the length of a name and of a number of rows.
    const places = [2312, 2900, ...Array.from({ length: 300 }, (_, n) => 4 + n * 14)]
    expect(length).toBeGreaterThan(Math.max(...places))
    const outcomes = new Set<unknown>()
    for (const at of places) {
      const place = changed('packings/gzip.parquet', (bytes) => {
        bytes[at]! ^= 4
        return bytes
      })
      const outcome = await read(place).then(
        ({ ratings }) => ratings.length,
        (error: unknown) => (error as { code?: unknown }).code,
      )
      outcomes.add(outcome)
    }
    expect([...outcomes].toSorted()).toEqual([40, 'MALFORMED_DATA', 'UNPARSABLE_RECORD'])
  })
})
