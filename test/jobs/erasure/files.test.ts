import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tracesIn } from '../../../src/jobs/erasure/files.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'

/** Files that pyarrow wrote. */
const PARQUET = resolve(import.meta.dirname, '../../cli/files/parquet')

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-traces-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'file')
  writeFileSync(file, text)
  return file
}

const countIn = async (text: string, user = '405'): Promise<number> =>
  (await tracesIn(fileOf(text), new Person(user))).count

describe('traces of a person in text', () => {
  it('are first fields, keys of rows and names', async () => {
    expect(await countIn('405,7,4\n7,405,4\n405\t1\t2\n')).toBe(2)
    expect(await countIn('405-U@3,0.5\n1405-U,1\n')).toBe(1)
    expect(await countIn('{"user":"405"} user=405 user=4051\n')).toBe(2)
  })

  it('are in the column that a header names, wherever it is', async () => {
    const lines = 'item_id,user_id,rating\n1,405,4\n2,1,405\n3,405,1\n'
    const traces = await tracesIn(fileOf(lines), new Person('405'))
    expect(traces).toEqual({ count: 2, columns: ['user_id'] })
  })

  it('are counted once where the first column is that of users', async () => {
    expect(await countIn('user_id;item_id;rating\n405;1;4\n1;405;4\n')).toBe(1)
  })
})

describe('traces of a person in Parquet', () => {
  it('are as many as the rows of this user, in the column of users', async () => {
    const rows = readFileSync(join(PARQUET, 'packings/none.csv'), 'utf8').split('\n')
    const own = rows.filter((row) => row.split(',')[2] === '"u1"').length
    expect(own).toBeGreaterThan(1)
    const traces = await tracesIn(join(PARQUET, 'packings/zstd.parquet'), new Person('u1'))
    expect(traces).toEqual({ count: own, columns: ['userId'] })
  })

  it('are not the items, the ratings and the times that are equal to the id', async () => {
    const file = join(PARQUET, 'packings/snappy.parquet')
    for (const user of ['film 1', '1', '1425943980']) {
      expect(await tracesIn(file, new Person(user))).toMatchObject({ count: 0 })
    }
  })

  it('are looked for beside a column that is not read, and where none is there that is said', async () => {
    const file = join(PARQUET, 'others/nested.parquet')
    expect(await tracesIn(file, new Person('a'))).toEqual({ count: 1, columns: ['user'] })
    await expect(tracesIn(file, new Person('c'))).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
  })
})
