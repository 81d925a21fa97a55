import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const textOf = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('docs/guide/monitoring.md', () => {
  it('says for each alert rule, in their order, what to do', () => {
    const { groups } = parse(textOf('monitoring/alerts.yml')) as {
      groups: { rules: { alert: string }[] }[]
    }
    const explained = textOf('docs/guide/monitoring.md').matchAll(/^\| `(Weir\w+)` \|/gm)
    expect([...explained].map((row) => row[1])).toEqual(
      groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)),
    )
  })
})
