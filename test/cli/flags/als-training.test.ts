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
  const inherited = inheritedAlsOptions(new Flags({ threads: '2' }), live)
  expect(inherited).toMatchObject({
    factors: 10,
    iterations: 7,
    regularization: 0.3,
    biases: true,
    seed: 4,
    threads: 2,
  })
  const given = inheritedAlsOptions(new Flags({ iterations: '3', lambda: '0.1' }), live)
  expect(given).toMatchObject({ factors: 10, iterations: 3, regularization: 0.1 })
})

it('the factors of a version whose options are not known follow from its rows', () => {
  const unknown = { ...live, lineage: { ...live.lineage, hyperparameters: {} } }
  expect(inheritedAlsOptions(new Flags({}), unknown)).toMatchObject({ factors: 10, biases: true })
  const plain = { ...live.lineage, hyperparameters: { factors: 12 } }
  const unbiased = inheritedAlsOptions(new Flags({}), { ...live, lineage: plain })
  expect(unbiased).toMatchObject({ factors: 12, biases: false })
})

it('a first training has the defaults of train als', () => {
  const first = inheritedAlsOptions(new Flags({}), undefined)
  expect(first).toMatchObject({ factors: 50, iterations: 10, seed: 1, biases: true })
})
