import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesOf } from '../architecture/source-tree.ts'

const ROOT = resolve(import.meta.dirname, '../..')

function pages(): string[] {
  const below = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name))
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...below('docs'), ...below('datasets')]
}

/** Heading to fragment, as GitHub makes it. */
const fragmentOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

function hasHeading(file: string, fragment: string): boolean {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)
  return [...headings].some(([, heading]) => fragmentOf(heading!) === fragment)
}

/** Links within the repository that lead nowhere, as `page: link`. */
function brokenLinks(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path, fragment] = link.split('#') as [string, string?]
      const target = path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), path)
      return !existsSync(target) || (fragment !== undefined && !hasHeading(target, fragment))
    })
    .map((link) => `${relative(ROOT, join(ROOT, page))}: ${link}`)
}

/** Pages of decisions that a source file names and that are not there, as `file: link`. */
function brokenReferences(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/docs\/decisions\/[\w-]+\.md(?:#([\w-]+))?/g)]
    .filter(([link, fragment]) => {
      const target = join(ROOT, link.split('#')[0]!)
      return !existsSync(target) || (fragment !== undefined && !hasHeading(target, fragment))
    })
    .map(([link]) => `${file}: ${link}`)
}

describe('the documentation', () => {
  it('has no link that leads nowhere', () => {
    expect(pages().flatMap(brokenLinks)).toEqual([])
  })

  it('has the decisions that comments of the source name', () => {
    const files = filesOf('src', 'test', 'benchmarks', 'scripts', 'verify')
    expect(files.flatMap(brokenReferences)).toEqual([])
  })

  it('is reachable from its index', () => {
    const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
    const unlisted = ['guide', 'reference'].flatMap((folder) =>
      readdirSync(join(ROOT, 'docs', folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.md'))
        .map((name) => `${folder}/${name}`)
        .filter((page) => !index.includes(`(${page})`)),
    )
    expect(unlisted).toEqual([])
  })
})
