import { factorKind, textRows } from './factor-kind.ts'
import type { Installation } from './installation.ts'
import type { Kind } from './kind.ts'
import { linearKind } from './linear-kind.ts'

async function train(at: Installation, ...args: string[]): Promise<void> {
  await at.run('train', ...args)
}

/** Explicit ratings, trained by alternating least squares. */
export const explicitKind = (): Kind =>
  factorKind({
    name: 'explicit ratings',
    publish: (at) => train(at, 'als', '--ratings', at.file('base')),
  })

/** Uses of items; `model`: its name where it is not the only one of factors. */
export const implicitKind = (model?: string): Kind =>
  factorKind({
    name: 'implicit events',
    ...(model === undefined ? {} : { model }),
    isImplicit: true,
    publish: (at, topics) =>
      // The counts of these events are drawn, and say little of a preference.
      train(at, 'als', '--implicit', '--alpha', '0.2', '--ratings', at.file('base'), ...topics),
  })

/** Explicit ratings, trained by Bayesian factorisation. */
export const bayesianKind = (): Kind =>
  factorKind({
    name: 'Bayesian factors',
    publish: (at) => train(at, 'bmf', '--ratings', at.file('base')),
  })

/** Mean ratings of items. */
export const popularityKind = (): Kind =>
  factorKind({
    name: 'popularity',
    publish: (at) => train(at, 'popularity', '--ratings', at.file('base'), '--topic', 'als-model'),
  })

/** Rows of the ancestor: text, of which nothing else is known; `model` as above. */
export const textKind = (model?: string): Kind =>
  factorKind({
    name: 'text rows',
    ...(model === undefined ? {} : { model }),
    isClipped: false,
    async publish(at, topics) {
      await at.run('model', 'load', at.write('rows.txt', await textRows(at)), ...topics)
    },
  })

/** Rows that no rating stands behind. */
export const generatedKind = (): Kind =>
  factorKind({
    name: 'generated rows',
    isClipped: false,
    async publish(at) {
      await at.run('generate', 'als-model', '--users', '300', '--items', '120', '--factors', '8')
    },
  })

/** A support vector machine. */
export const hingeKind = (): Kind =>
  linearKind({
    name: 'an SVM',
    publish: (at) => train(at, 'svm', '--examples', at.file('base'), '--publish'),
  })

/** Logistic regression. */
export const logisticKind = (): Kind =>
  linearKind({
    name: 'logistic regression',
    loss: 'logistic',
    publish: (at) => train(at, 'logistic', '--examples', at.file('base'), '--publish'),
  })

async function loadWeights(at: Installation, trainer: string): Promise<void> {
  const weights = ['--weights', at.file('weights.txt')]
  await train(at, trainer, '--examples', at.file('base'), ...weights)
  await at.run('model', 'load', '--kind', 'linear', at.file('weights.txt'))
}

/** A support vector machine from the text of its weights. */
export const loadedHingeKind = (): Kind =>
  linearKind({ name: 'weights of an SVM', publish: (at) => loadWeights(at, 'svm') })

/** Logistic regression from the text of its weights. */
export const loadedLogisticKind = (): Kind =>
  linearKind({
    name: 'weights of logistic regression',
    loss: 'logistic',
    publish: (at) => loadWeights(at, 'logistic'),
  })
