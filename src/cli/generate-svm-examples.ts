import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { systemClock } from '../core/clock.ts'
import { seededRandom } from '../core/random.ts'
import { LibsvmWriter } from '../models/libsvm-writer.ts'
import { LinearExamples } from '../models/linear-model-generator.ts'
import { type Command, Flags } from './command.ts'
import { ProgressBar } from './progress-bar.ts'

const CHUNK = 256

/** `weir generate svm-examples`: seeded labelled sparse examples in LIBSVM's format. */
export const generateSvmExamplesCommand: Command = {
  name: 'generate svm-examples',
  summary: 'Write seeded sparse examples of a generated linear model',
  options: {
    features: { type: 'string', value: 'N', default: '100000', help: 'Feature ids from 0' },
    examples: { type: 'string', value: 'N', default: '10000', help: 'Examples' },
    'non-zeros': { type: 'string', value: 'N', default: '117', help: 'Non-zeros of an example' },
    exponent: {
      type: 'string',
      value: 'X',
      default: '1.05',
      help: "Exponent of the features' Zipf law",
    },
    density: {
      type: 'string',
      value: 'SHARE',
      default: '1',
      help: 'Share of features with a weight',
    },
    noise: { type: 'string', value: 'SHARE', default: '0.01', help: 'Share of wrong labels' },
    seed: { type: 'string', value: 'N', default: '1', help: 'Seed of the model behind the labels' },
    'stream-seed': { type: 'string', value: 'N', default: '1', help: 'Seed of the examples' },
    output: { type: 'string', value: 'FILE', help: 'File to write (default: standard output)' },
  },
  details: `Labels are the signs of the model that "weir generate svm-model" publishes with the same features,
density and seed, but for the share that --noise turns.

Example, like URL Reputation:
  weir generate svm-examples --features 3231961 --examples 100000 --output url.svm`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const shape = {
      features: flags.integer('features', 2, 2 ** 32 - 1),
      nonZeros: flags.integer('non-zeros', 1),
      exponent: flags.number('exponent'),
      density: flags.number('density'),
      noise: flags.number('noise'),
      seed: flags.integer('seed'),
    }
    const count = flags.integer('examples', 1)
    const path = flags.optional('output')
    const out: Writable = path === undefined ? process.stdout : createWriteStream(path)
    const bar = new ProgressBar(io, 'generating', () => systemClock.monotonicMs())
    const examples = new LinearExamples(shape)
    const random = seededRandom(flags.integer('stream-seed'))
    const text = new LibsvmWriter()
    for (let n = 1; n <= count; n++) {
      const { label, ids, values: numbers } = examples.next(random)
      text.add(label, ids, numbers)
      if (n % CHUNK !== 0 && n !== count) continue
      // The stream keeps what it is given until it is written.
      const more = out.write(text.bytes.slice(0, text.length))
      text.reset()
      if (path !== undefined) bar.update(n, count)
      if (!more) await once(out, 'drain')
    }
    bar.finish()
    if (path === undefined) return 0
    out.end()
    await once(out, 'close')
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ ...shape, examples: count, output: path })
        : `${count} examples in ${path}`,
    )
    return 0
  },
}
