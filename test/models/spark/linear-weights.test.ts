import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type SparkWeights, sparkWeights } from '../../../src/models/spark/linear-weights.ts'
import { openSparkModel } from '../../../src/models/spark/model-folder.ts'

async function weightsOf(name: string, firstFeature = 0): Promise<SparkWeights> {
  const place = join(import.meta.dirname, 'folders', name)
  return await sparkWeights(await openSparkModel(place), firstFeature)
}

it('a LinearSVCModel has the weights and the intercept that Spark printed', async () => {
  const { weights, intercept, labels, classes } = await weightsOf('svc')
  expect([...weights]).toEqual([
    ...[0.6932480184099581, -0.6932480184099581, 0.23108267280331937],
    ...[0.6932480184099581, -0.6932480184099581, 0.23108267280331937],
  ])
  expect(intercept).toBe(0.3067560045886348)
  expect(labels).toEqual({ positiveLabel: 1, negativeLabel: 0 })
  expect(classes).toBeUndefined()
})

it('a LogisticRegressionModel of two labels has those of its only row, zeros too', async () => {
  const { weights, intercept } = await weightsOf('lasso')
  expect([...weights]).toEqual([0, -2.426270570563994, 0, 0, -2.426270570563994, 0])
  expect(intercept).toBe(2.8040811690651104)
})

it('the first feature may have the id 1, as in LIBSVM text', async () => {
  const { weights } = await weightsOf('lasso', 1)
  expect([...weights]).toEqual([0, 0, -2.426270570563994, 0, 0, -2.426270570563994, 0])
})

it('a model of three labels has the weights of each class one after the other, each with its intercept', async () => {
  const { weights, intercept, classes, labels } = await weightsOf('classes')
  expect(classes).toEqual({ labels: [0, 1, 2], features: 6, stride: 7 })
  expect(labels).toEqual({})
  expect(intercept).toBe(0)
  const rows = [0, 7, 14].map((from) => [...weights.subarray(from, from + 7)])
  expect(rows[0]![0]).toBeCloseTo(2.89882823, 8)
  expect(rows[1]![4]).toBeCloseTo(2.89882823, 8)
  expect(rows[2]![2]).toBeCloseTo(2.89882823, 8)
  expect(rows[2]![5]).toBeCloseTo(1.44941412, 8)
  expect(rows[2]![6]).toBe(-7.481602647447635e-16)
})
