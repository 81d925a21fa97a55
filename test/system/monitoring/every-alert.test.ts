import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { RULES } from './alerting.ts'

it('each shipped alert is seen to fire and to end', () => {
  const { groups } = parse(readFileSync(RULES, 'utf8')) as {
    groups: { rules: { alert: string }[] }[]
  }
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
  const texts = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('alerts.test.ts'))
    .map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'))
    .join('\n')
  expect(alerts.length).toBeGreaterThan(15)
  expect(alerts.filter((alert) => texts.split(`'${alert}'`).length < 3)).toEqual([])
})
