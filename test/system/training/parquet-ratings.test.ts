import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, weir } from '../cli/command-process.ts'

const FILES = join(import.meta.dirname, '../../cli/files/parquet')

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-parquet-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const train = (
  name: string,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> => {
  const place = join(FILES, 'packings', name)
  const small = ['--factors', '2', '--iterations', '2', '--no-publish']
  return weir(['train', 'als', '--ratings', place, ...small, ...words], { env }).ended
}

describe('weir train als --ratings with a Parquet file', () => {
  it('writes the rows that the same ratings in csv give, and tests on one', async () => {
    const rowsOf = async (name: string): Promise<string> => {
      const rows = join(folder, `${name}.rows`)
      const test = join(FILES, 'types', 'integers.parquet')
      const { code, stdout, stderr } = await train(name, ['--text-rows', rows, '--test', test])
      expect(code, `${stdout}${stderr}`).toBe(0)
      return readFileSync(rows, 'utf8')
    }
    const rows = await rowsOf('zstd.parquet')
    expect(rows.split('\n').length).toBeGreaterThan(15)
    expect(rows).toBe(await rowsOf('none.csv'))
  })

  it('ends with the command that installs the package where it is missing; csv needs none', async () => {
    const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/without-package.ts'))
    const env = { NODE_OPTIONS: `--import=${preload}`, WITHOUT_PACKAGE: 'hyparquet' }
    const { code, stderr } = await train('zstd.parquet', [], env)
    expect(code).toBe(1)
    expect(stderr).toMatch(/zstd\.parquet is a Parquet file.*run `npm install hyparquet`/)
    const csv = await train('none.csv', [], env)
    expect(csv.code, csv.stderr).toBe(0)
  })

  it('ends with the command that installs the other package for an Arrow file', async () => {
    const preload = pathToFileURL(join(import.meta.dirname, '../../fixtures/without-package.ts'))
    const env = { NODE_OPTIONS: `--import=${preload}`, WITHOUT_PACKAGE: 'apache-arrow' }
    const { code, stderr } = await train('../../arrow/packings/lz4.feather', [], env)
    expect(code).toBe(1)
    expect(stderr).toMatch(/lz4\.feather is an Arrow file.*run `npm install apache-arrow`/)
  })
})
