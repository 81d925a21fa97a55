import { systemClock } from '../../core/clock.ts'
import { GeneratedWeights } from '../../models/linear/model-generator.ts'
import { type Command, Flags } from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { share, wholeNumber } from '../flag-kinds/numbers.ts'
import { PUBLISH_LINEAR_OPTIONS, publishLinearModel } from '../flags/publish-linear.ts'
import { promotionHint } from '../flags/published-version.ts'

/** `weir generate svm-model`: publishes a generated linear model of any size. */
export const generateSvmModelCommand: Command = {
  name: 'generate svm-model',
  summary: 'Generate a linear model of any size and publish it',
  options: {
    features: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 2 ** 32 - 1 }),
      default: '100000',
      help: 'Number of features; ids start at 0',
    },
    density: {
      type: 'string',
      value: share({ above: 0, max: 1 }),
      default: '1',
      help: 'Share of features that have a weight',
    },
    seed: { type: 'string', value: wholeNumber(), default: '1', help: 'Seed of the weights' },
    ...PUBLISH_LINEAR_OPTIONS,
  },
  details: `Example, with the size of the URL Reputation data set:
  weir generate svm-model --features 3231961`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const shape = {
      features: flags.number('features'),
      density: flags.number('density'),
      seed: flags.number('seed'),
    }
    const bar = new ProgressBar(io, 'publishing', () => systemClock.monotonicMs())
    const weights = new GeneratedWeights(shape)
    const model = {
      features: shape.features,
      intercept: 0,
      fill: (first: number, target: Float32Array) => weights.fill(first, target),
    }
    const published = await publishLinearModel(model, flags, {
      hyperparameters: { generated: true, ...shape },
      onProgress: (blocks) => bar.update(blocks, Math.ceil(shape.features / flags.number('range'))),
    })
    bar.finish()
    const { topic, version } = published
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ ...shape, ...published })
        : `${shape.features} weights in blocks of ${published.range} as version ${version} in topic ${topic}${await promotionHint(flags, topic, version)}`,
    )
    return 0
  },
}
