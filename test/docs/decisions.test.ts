import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const FOLDER = resolve(import.meta.dirname, '../../docs/decisions')
const textOf = (page: string): string => readFileSync(join(FOLDER, page), 'utf8')
/** Pages of subjects. A file that begins with a number is a decision that has no page yet. */
const pages = readdirSync(FOLDER).filter((name) => name !== 'README.md' && !/^\d{4}-/.test(name))

describe('docs/decisions', () => {
  it('has each page in its index', () => {
    const index = textOf('README.md')
    expect(pages.length).toBeGreaterThan(20)
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([])
  })

  it.each(pages)('says in each section what was chosen: %s', (page) => {
    const sections = textOf(page).split(/^## /m).slice(1)
    const without = sections.filter((section) => !section.includes('**Choice.**'))
    expect(sections.length).toBeGreaterThan(1)
    expect(without.map((section) => section.split('\n')[0])).toEqual([])
  })
})
