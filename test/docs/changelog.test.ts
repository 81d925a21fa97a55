import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const text = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
const releases = text
  .split(/^## /m)
  .slice(1)
  .map((section) => [section.split('\n')[0]!, section.match(/^- /gm) ?? []] as const)

describe('CHANGELOG.md', () => {
  it('has a section for a release', () => {
    expect(releases.length).toBeGreaterThan(0)
  })

  it.each(releases)('says what a user must know of %s in at most 30 lines', (_, lines) => {
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThanOrEqual(30)
  })
})
