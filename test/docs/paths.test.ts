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

/** The rooms in the first column of a page's tables. */
function roomsOf(page: string): string[] {
  const rows = readFileSync(join(ROOT, page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([\w/-]+)`/g)])
  return named.map((found) => found[1]!).sort()
}

/** The folders of src, as paths in it. */
function folders(): string[] {
  const rooms = new Set(filesOf('src').map((file) => dirname(file).slice('src/'.length)))
  rooms.delete('')
  return [...rooms].sort()
}

describe('the rooms of src', () => {
  it('have a row each on the page of rooms', () => {
    expect(roomsOf('docs/reference/rooms.md')).toEqual(folders())
  })

  it('have a row on the page of the architecture, where they are at the top', () => {
    const top = folders().map((room) => room.split('/')[0]!)
    expect(roomsOf('docs/guide/architecture.md')).toEqual([...new Set(top)].sort())
  })
})
