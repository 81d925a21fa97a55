import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { REFERENCE_PAGES } from '../../scripts/reference-pages.ts'

describe('docs/reference', () => {
  it.each(Object.keys(REFERENCE_PAGES))('has %s as `npm run docs` writes it', (name) => {
    const page = new URL(`../../docs/reference/${name}`, import.meta.url)
    expect(readFileSync(page, 'utf8')).toBe(REFERENCE_PAGES[name]!())
  })
})
