import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOf } from '../architecture/source-tree.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** Paths of the repository that a page names in its text. */
function pathsIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/`((?:src|test|benchmarks|verify|scripts)\/[\w./-]*)`/g)].map(
    (found) => found[1]!,
  )
}

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

describe('the paths that pages name', () => {
  it.each(pages)('exist: %s', (page) => {
    expect(pathsIn(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

describe('docs/guide/architecture.md', () => {
  it('has a row for each room of src', () => {
    const text = readFileSync(join(ROOT, 'docs/guide/architecture.md'), 'utf8')
    const rows = text.split('\n').filter((line) => line.startsWith('| `'))
    const named = rows.flatMap((row) =>
      [...row.split('|')[1]!.matchAll(/`([\w/-]+)`/g)].map((found) => found[1]!),
    )
    const rooms = new Set(filesOf('src').map((file) => dirname(file).slice('src/'.length)))
    rooms.delete('')
    expect(named.sort()).toEqual([...rooms].sort())
  })
})
