import { expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { inheritedAlsOptions } from '../../../src/cli/flags/als-training.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'

const version = registeredVersion(1)
const live = {
  ...version,
  dimension: 12,
  lineage: {
    ...version.lineage,
    hyperparameters: { factors: 10, iterations: 7, regularization: 0.3, biases: true, seed: 4 },
  },
}

it('a retraining inherits the options of the live version, and flags replace them', () => {
  const inherited = inheritedAlsOptions(new Flags({ threads: '2' }), live, 'explicit')
  expect(inherited).toMatchObject({
    factors: 10,
    iterations: 7,
    regularization: 0.3,
    biases: true,
    seed: 4,
    threads: 2,
  })
  const given = inheritedAlsOptions(new Flags({ iterations: '3', lambda: '0.1' }), live, 'explicit')
  expect(given).toMatchObject({ factors: 10, iterations: 3, regularization: 0.1 })
})

it('the factors of a version whose options are not known follow from its rows', () => {
  const unknown = { ...live, lineage: { ...live.lineage, hyperparameters: {} } }
  expect(inheritedAlsOptions(new Flags({}), unknown, 'explicit')).toMatchObject({
    factors: 10,
    biases: true,
  })
  const plain = { ...live.lineage, hyperparameters: { factors: 12 } }
  const unbiased = inheritedAlsOptions(new Flags({}), { ...live, lineage: plain }, 'explicit')
  expect(unbiased).toMatchObject({ factors: 12, biases: false })
})

it('a first training has the defaults of train als', () => {
  const first = inheritedAlsOptions(new Flags({}), undefined, 'explicit')
  expect(first).toMatchObject({ factors: 50, iterations: 10, seed: 1, biases: true })
})

it('a training on implicit feedback has no biases, and takes alpha from the flags or the live version', () => {
  const first = inheritedAlsOptions(new Flags({ alpha: '10' }), undefined, 'implicit')
  expect(first).toMatchObject({ feedback: 'implicit', alpha: 10, factors: 50, biases: false })
  const hyperparameters = { factors: 10, feedback: 'implicit', alpha: 4, biases: false }
  const implicit = { ...live, dimension: 10, lineage: { ...live.lineage, hyperparameters } }
  const inherited = inheritedAlsOptions(new Flags({}), implicit, 'implicit')
  expect(inherited).toMatchObject({ feedback: 'implicit', alpha: 4, factors: 10, biases: false })
})

it('rows that others made keep their length when they are trained on implicit feedback', () => {
  const loaded = { ...live, dimension: 12, lineage: { ...live.lineage, hyperparameters: {} } }
  const options = inheritedAlsOptions(new Flags({}), loaded, 'implicit')
  expect(options).toMatchObject({ factors: 12, biases: false })
})
