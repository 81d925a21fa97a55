import { expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { FACTORS, trials } from './table.ts'

it('the table of combinations has every part, and no part where it cannot be', () => {
  const table = trials(seededRandom(1), true)
  for (const [factor, levels] of Object.entries(FACTORS)) {
    const used = new Set(table.map((trial) => trial[factor as keyof typeof FACTORS]))
    expect([...used].sort(), factor).toEqual([...levels].sort())
  }
  expect(table.length).toBeLessThan(120)
  // They take long.
  expect(table.filter(({ storage }) => storage === 'Kafka').length).toBeLessThan(25)
  for (const { kind, job, rule, step, publisher } of table) {
    expect(rule === 'none').toBe(job === 'serving')
    if (rule === 'linear') expect(['hinge', 'logistic']).toContain(kind)
    if (step === 'write-back') expect(job).toBe('learning')
    if (publisher === 'generate') expect(kind).toBe('generated')
  }
})

it('the table of a machine without certificates has plain ports, and all else', () => {
  const ports = trials(seededRandom(1), false).map((trial) => trial.ports)
  expect(new Set(ports)).toEqual(new Set(['plain']))
  const steps = trials(seededRandom(1), false).map(({ step }) => step)
  expect([...new Set(steps)].sort()).toEqual([...FACTORS.step].sort())
})
