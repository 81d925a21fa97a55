import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CommandProcess, REPOSITORY } from '../cli/command-process.ts'
import { guidePage } from './page-commands.ts'

/** Programs of the page, each with the block behind it: what it prints. */
const PROGRAMS = [
  ...guidePage('features.md').matchAll(
    /^```ts\n((?:(?!^```).*\n)*)^```\n\n```\n((?:(?!^```).*\n)*)^```$/gm,
  ),
].map(([, source, output]) => ({ source: source!, output: output! }))

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-features-page-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('docs/guide/features.md has programs with their output', () => {
  expect(PROGRAMS).toHaveLength(2)
})

it.each(PROGRAMS)(
  'docs/guide/features.md: a program prints what the page shows',
  async (program) => {
    const entry = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href
    const file = join(folder, 'program.mts')
    writeFileSync(file, program.source.replaceAll('@weirjs/weir', entry))
    await using run = new CommandProcess(process.execPath, [file], { cwd: folder })
    const { code, stdout, stderr } = await run.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(program.output)
    expect(existsSync(join(folder, 'examples.parquet'))).toBe(program.source.includes('.parquet'))
  },
)
