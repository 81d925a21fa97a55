import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { BadLinesOfFiles } from '../../../src/cli/files/bad-lines.ts'
import { examplesOfFile } from '../../../src/cli/files/examples-file.ts'
import { ratingsOfFile } from '../../../src/cli/files/ratings-file.ts'
import { ratingsReadingOf } from '../../../src/cli/files/ratings-reading.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { ratingsOf } from '../../../src/training/data/ratings-table.ts'
import { recordedIo } from '../recorded-io.ts'
import { type DataFile, READ, REFUSED, type Row, utf16 } from './data-set-files.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-data-sets-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function placeOf({ name, content }: DataFile): string {
  const place = join(folder, name)
  writeFileSync(place, content)
  return place
}

async function rowsOf(file: DataFile): Promise<{ rows: readonly Row[]; err: string }> {
  const { io, err } = recordedIo()
  const reading = ratingsReadingOf(new Flags(file.flags ?? {}), io)
  const table = await ratingsOfFile(placeOf(file), reading)
  const rows = [...ratingsOf(table)].map(({ user, item, rating, timestamp }): Row => {
    return timestamp === NO_TIMESTAMP ? [user, item, rating] : [user, item, rating, timestamp]
  })
  return { rows, err: err.join('\n') }
}

describe('ratings as people have them', () => {
  it.each(READ.map(([file, rows]) => [file.name, file, rows] as const))(
    'reads %s',
    async (_, file, rows) => {
      expect((await rowsOf(file)).rows).toEqual(rows)
    },
  )

  it.each(REFUSED.map(([file, said]) => [file.name, file, said] as const))(
    'says what is wrong with %s, and what to do',
    async (_, file, said) => {
      const message = await rowsOf(file).then(
        ({ rows }) => `read: ${JSON.stringify(rows)}`,
        (error: Error) => error.message,
      )
      expect(message).toContain(file.name)
      for (const part of said) expect(message).toContain(part)
    },
  )
})

/** LIBSVM files that are read: their labels, and ids with values by row. */
const EXAMPLES: readonly (readonly [DataFile, readonly (readonly [number, string])[]])[] = [
  [
    { name: 'a9a', content: '-1 3:1 11:1 14:1 \n+1 5:1 7:1 \n' },
    [
      [-1, '3:1 11:1 14:1'],
      [1, '5:1 7:1'],
    ],
  ],
  [{ name: 'rcv1.binary.gz', content: gzipSync('1 39:0.25 55:0.5\n') }, [[1, '39:0.25 55:0.5']]],
  [
    { name: 'news20.scale', content: '3 197:0.0625 321:0.5\n20 1:1\n' },
    [
      [3, '197:0.0625 321:0.5'],
      [20, '1:1'],
    ],
  ],
  [
    { name: 'letor.txt', content: '2 qid:10 1:3 3:0.5 # GX000-00\n0 qid:10 2:1\n' },
    [
      [2, '1:3 3:0.5'],
      [0, '2:1'],
    ],
  ],
  [{ name: 'hashed.svm', content: '1 9:1 3:0.5 9:2\n' }, [[1, '3:0.5 9:3']]],
  [{ name: 'bom.svm', content: '\ufeff1 3:1\r\n' }, [[1, '3:1']]],
  [{ name: 'utf-16.svm', content: utf16('1 3:1\r\n') }, [[1, '3:1']]],
  [{ name: 'half.svm', content: '1 3:1\n1 x:1\n', flags: { 'bad-lines': 'count' } }, [[1, '3:1']]],
]

/** Files that are no LIBSVM text. */
const NO_EXAMPLES: readonly DataFile[] = [
  { name: 'criteo-day_0.tsv', content: '0\t1\t1\t5\t68fd1e64\t80e26c9b\n' },
  { name: 'avazu-train.csv', content: 'id,click,hour,C1\n1000009418151094273,0,14102100,1005\n' },
  { name: 'vowpal.vw', content: '1 |f price:.23 sqft:.25\n' },
  { name: 'labels.svm', content: '1,2 3:1\n' },
]

describe('examples as people have them', () => {
  const read = async (file: DataFile) => {
    const { io } = recordedIo()
    const badLines = new BadLinesOfFiles(new Flags(file.flags ?? {}), io)
    return await examplesOfFile(placeOf(file), { badLines })
  }

  it.each(EXAMPLES.map(([file, rows]) => [file.name, file, rows] as const))(
    'reads %s',
    async (_, file, rows) => {
      const { labels, offsets, indexes, values } = await read(file)
      const found = rows.map((_, row) => {
        const [from, to] = [offsets[row]!, offsets[row + 1]!]
        const pairs = [...indexes.subarray(from, to)].map((id, k) => `${id}:${values[from + k]}`)
        return [labels[row], pairs.join(' ')]
      })
      expect(found).toEqual(rows)
      expect(labels).toHaveLength(rows.length)
    },
  )

  it.each(NO_EXAMPLES.map((file) => [file.name, file] as const))(
    'says what is wrong with %s',
    async (_, file) => {
      await expect(read(file)).rejects.toThrow('expected a label and feature:value pairs')
    },
  )
})

it('the guide shows the options of each file that needs some', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/guide/files.md'), 'utf8')
  const optionsOf = ({ flags = {} }: DataFile): string[] =>
    Object.entries(flags).map(([name, value]) =>
      value === true ? `--${name}` : `--${name} ${value}`,
    )
  const missing = READ.flatMap(([file]) => optionsOf(file)).filter(
    (option) => !page.includes(option),
  )
  expect(missing).toEqual([])
})

it('at least forty files are read or refused with a clear error', () => {
  const files = [...READ.map(([file]) => file), ...REFUSED.map(([file]) => file)]
  const all = [...files, ...EXAMPLES.map(([file]) => file), ...NO_EXAMPLES]
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(40)
})
