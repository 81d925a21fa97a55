import { expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { namesIn } from './design/pairwise.ts'
import { FACTORS, type Trial, trials } from './table.ts'

it('the table of combinations has every part, and no part where it cannot be', () => {
  const table = trials(seededRandom(1), { hasCertificates: true })
  for (const [factor, levels] of Object.entries(FACTORS)) {
    const used = new Set(table.map((trial) => trial[factor as keyof typeof FACTORS]))
    expect([...used].sort(), factor).toEqual([...levels].sort())
  }
  expect(table.length).toBeLessThan(140)
  // They take long.
  expect(table.filter(({ storage }) => storage === 'Kafka').length).toBeLessThan(25)
  for (const { kind, job, rule, step, publisher } of table) {
    expect(rule === 'none').toBe(job === 'serving')
    if (rule === 'linear') expect(['hinge', 'logistic']).toContain(kind)
    if (rule === 'popularity') expect(kind).toBe('popularity')
    if (step === 'write-back') expect(job).toBe('learning')
    if (publisher === 'generate') expect(kind).toBe('generated')
  }
})

it('the table of a machine without certificates has plain ports, and all else', () => {
  const ports = trials(seededRandom(1), { hasCertificates: false }).map((trial) => trial.ports)
  expect(new Set(ports)).toEqual(new Set(['plain']))
  const steps = trials(seededRandom(1), { hasCertificates: false }).map(({ step }) => step)
  expect([...new Set(steps)].sort()).toEqual([...FACTORS.step].sort())
})

it('ten shares of the table have every pair that it has, whatever the seed of each', () => {
  const pairsOf = (rows: readonly Trial[]): readonly string[] =>
    [...new Set(rows.flatMap((row) => namesIn(row)))].sort()
  const shares = Array.from({ length: 10 }, (_, turn) =>
    trials(seededRandom(10 + turn), { hasCertificates: true, share: { of: 10, turn } }),
  )
  const whole = trials(seededRandom(1), { hasCertificates: true })
  expect(pairsOf(shares.flat())).toEqual(pairsOf(whole))
  for (const share of shares) expect(share.length).toBeLessThan(whole.length / 6)
})
