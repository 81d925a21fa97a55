import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONGEST_BLOCK_MS } from '../../run/until.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const GUIDE = join(ROOT, 'docs/guide')

/** Types of names that the words around a block explain, by a text that only this block has. */
const CONTEXT: Readonly<Record<string, string>> = {
  "assignment: 'key-groups', deserialize": `
    import type { StreamExecutionEnvironment } from '@weirjs/weir'
    import type { KafkaSinkOptions, KafkaSourceOptions } from '@weirjs/weir/kafka'
    interface Rating { readonly user: string }
    declare const env: StreamExecutionEnvironment
    declare const brokers: string
    declare const serialize: KafkaSinkOptions<Rating>['serialize']
    declare const deserialize: KafkaSourceOptions<Rating>['deserialize']`,
  'atLeast({ source: 1, partition, offset })': `
    import type { WeirClient } from '@weirjs/weir/client'
    declare const client: WeirClient
    declare const partition: number
    declare const offset: number`,
  'of ratings) spill.add(': `
    import type { Rating } from '@weirjs/weir'
    declare const ratings: AsyncIterable<Rating>`,
  'evaluateRanking(model, train, test).ndcg': `
    import type { AlsOptions, RatingsTable } from '@weirjs/weir'
    declare const table: RatingsTable
    declare const alpha: number
    declare const penalty: NonNullable<AlsOptions['penalty']>
    declare const lambda: number`,
}

/** Entry points of the package. */
const ENTRIES: Readonly<Record<string, string>> = {
  '@weirjs/weir': 'index.ts',
  '@weirjs/client': 'client/index.ts',
  '@weirjs/weir/client': 'client/index.ts',
  '@weirjs/weir/inference': 'inference.ts',
  '@weirjs/weir/kafka': 'connectors/kafka/index.ts',
  '@weirjs/weir/learning': 'learning.ts',
  '@weirjs/weir/testing': 'testing/index.ts',
  '@weirjs/weir/tracing': 'core/tracing/index.ts',
}

/** Packages that a program of the guide installs. */
const INSTALLED: Readonly<Record<string, string>> = { avsc: 'avsc/types/index.d.ts' }

interface Block {
  /** Name of its file: the page and the line, or the name that the page gives it. */
  readonly file: string
  readonly source: string
}

/** The blocks of TypeScript of a page, also those within lists. */
function blocksOf(page: string): Block[] {
  const text = readFileSync(join(GUIDE, page), 'utf8')
  return [...text.matchAll(/(`([\w-]+\.ts)`:\n\n)?^( *)```ts\n([\s\S]*?)^ *```$/gm)].map(
    (found) => {
      const [, , name, indent = '', source = ''] = found
      const line = text.slice(0, found.index).split('\n').length
      const file = name ?? `${page.replace('.md', '')}-${line}.ts`
      return { file, source: source.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
    },
  )
}

/** A block as a module, with the context that its page has in words. */
function moduleOf({ source }: Block): string {
  const context = Object.entries(CONTEXT).filter(([text]) => source.includes(text))
  return `${context.map(([, types]) => types).join('')}\n${source}\nexport {}\n`
}

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-guide-types-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function compilerOptions(): object {
  const paths = [
    ...Object.entries(ENTRIES).map(([name, entry]) => [name, [join(ROOT, 'src', entry)]]),
    ...Object.entries(INSTALLED).map(([name, types]) => [
      name,
      [join(ROOT, 'node_modules', types)],
    ]),
  ]
  return {
    noEmit: true,
    isolatedDeclarations: false,
    declaration: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: Object.fromEntries(paths),
  }
}

/** What the compiler says of modules, one finding a line. */
function findings(modules: ReadonlyMap<string, string>): string {
  for (const [name, source] of modules) writeFileSync(join(folder, name), source)
  const include = [...modules.keys()]
  const configuration = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: compilerOptions(),
    include,
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration))
  try {
    execFileSync('npx', ['tsc', '-p', folder], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: LONGEST_BLOCK_MS,
    })
    return ''
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error)
  }
}

describe('the TypeScript of the guide', () => {
  const blocks = readdirSync(GUIDE)
    .filter((name) => name.endsWith('.md'))
    .flatMap(blocksOf)

  it.each(Object.keys(CONTEXT))('has one block with the text that stands for it: %s', (text) => {
    expect(blocks.filter(({ source }) => source.includes(text))).toHaveLength(1)
  })

  it('has the types of the package, block by block', () => {
    expect(blocks.length).toBeGreaterThan(20)
    const modules = blocks.map((block) => [block.file, moduleOf(block)] as const)
    // The check itself is tried: a call that the package does not have.
    const broken = "import { noWatermarks } from '@weirjs/weir'\nnoWatermarks().misspelt\n"
    const found = findings(new Map([...modules, ['broken.ts', broken]]))
    const lines = found.split('\n').filter((line) => line !== '' && !line.startsWith(' '))
    expect(lines.filter((line) => !line.includes('broken.ts'))).toEqual([])
    expect(lines).toHaveLength(1)
  })
})
