import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../../src/core/errors.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const page = (name: string): string => readFileSync(join(ROOT, 'docs/guide', name), 'utf8')

describe('docs/guide/troubleshooting.md', () => {
  const sections = page('troubleshooting.md')
    .split(/^#+ (?=`[A-Z_]+`$)/m)
    .slice(1)
    .map((text) => ({ code: /^`([A-Z_]+)`/.exec(text)![1]!, text }))

  it('has one section for each error code, and no other', () => {
    expect(sections.map(({ code }) => code).sort()).toEqual(Object.keys(ERROR_CODES).sort())
  })

  it('says for each code what happened and what to do', () => {
    const parts = /\n\*\*What happened:\*\* (.{20,})\n\n\*\*What to do:\*\* (.{8,})\n/
    expect(sections.filter(({ text }) => !parts.test(text)).map(({ code }) => code)).toEqual([])
  })
})

describe.each([
  ['promises.md', 30],
  ['damage.md', 17],
  ['attackers.md', 10],
])('docs/guide/%s', (name, least) => {
  const promises = page(name)
    .split('\n')
    .filter((line) => /^\| (?!failure |attacker |file |flag |role |-)/.test(line))
    .filter((line) => line.includes('`test/') || name !== 'attackers.md')

  it('names for each promise the tests that hold it', () => {
    expect(promises.length).toBeGreaterThan(least)
    const testsOf = (row: string) => [...row.matchAll(/`(test\/[\w/.-]+\.test\.ts)`/g)]
    const without = promises.filter((row) => testsOf(row).length === 0)
    const missing = promises.flatMap((row) =>
      testsOf(row)
        .map((found) => found[1]!)
        .filter((path) => !existsSync(join(ROOT, path))),
    )
    expect({ without, missing }).toEqual({ without: [], missing: [] })
  })
})

/** Rows of the tables below a heading of a page, or of all of its tables. */
function rowsOf(path: string, heading?: string): readonly string[] {
  const text = readFileSync(join(ROOT, 'docs', path), 'utf8')
  const part = heading === undefined ? text : text.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  return part.split('\n').filter((line) => /^\| (?!failure |limit |attacker |-)/.test(line))
}

describe.each([
  ['each promise', rowsOf('guide/promises.md'), 50],
  ['each attacker', rowsOf('guide/attackers.md'), 45],
  ['each limit of the gateway', rowsOf('guide/gateway.md', 'Limits'), 14],
  ['each limit of a query port', rowsOf('reference/query-protocol.md', 'Limits'), 11],
])('the guide names for %s', (_, rows, least) => {
  it('the tests that hold it, by file and name', () => {
    expect(rows.length).toBeGreaterThan(least)
    const named = rows.map((row) => [
      ...row.matchAll(/`(test\/[\w/.-]+\.test\.ts)`: "([^|]+?)"(?:;| \|)/g),
    ])
    expect(rows.filter((_row, n) => named[n]!.length === 0)).toEqual([])
    const paths = rows.flatMap((row) => [...row.matchAll(/`test\/[\w/.-]+\.test\.ts`/g)])
    expect(named.flat()).toHaveLength(paths.length)
    const missing = named.flat().filter(([, file = '', test = '']) => {
      const path = join(ROOT, file)
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(test)
    })
    expect(missing.map((found) => found[0])).toEqual([])
  })
})

describe('a guide with commands', () => {
  const names = readdirSync(join(ROOT, 'docs/guide')).filter((name) => name !== 'install.md')

  it('says what the command is, for a reader who begins there', () => {
    const withCommands = names.filter((name) => /^\$ (npx )?weir /m.test(page(name)))
    expect(withCommands.length).toBeGreaterThan(10)
    expect(withCommands.filter((name) => !page(name).includes('](install.md'))).toEqual([])
  })
})

it('the threat model names for each promise a test that exists', () => {
  const rows = page('threat-model.md')
    .split('\n')
    .filter((line) => line.includes('`test/'))
  const named = rows.map((row) => /`(test\/[\w/.-]+\.test\.ts)`: "([^"]+)" \|$/.exec(row))
  expect(rows.filter((_, n) => named[n] === null)).toEqual([])
  const missing = named.filter((found) => {
    const [, file = '', test = ''] = found ?? []
    const path = join(ROOT, file)
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(test)
  })
  expect(missing.map((found) => found![0])).toEqual([])
  expect(rows.length).toBeGreaterThan(10)
})
