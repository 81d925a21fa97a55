import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../core/clock.ts'
import { seededRandom } from '../../core/random.ts'
import { LibsvmWriter } from '../../models/linear/libsvm-writer.ts'
import { LinearExamples } from '../../models/linear/model-generator.ts'
import { type Command, Flags } from '../command/command.ts'
import { ProgressBar } from '../command/progress-bar.ts'
import { anyNumber, MOST_MADE, share, wholeNumber } from '../flag-kinds/numbers.ts'
import { output } from '../flag-kinds/places.ts'
import { counted } from '../text/counted.ts'

const CHUNK = 256

/** `weir generate svm-examples`: writes generated sparse examples in LIBSVM's format. */
export const generateSvmExamplesCommand: Command = {
  name: 'generate svm-examples',
  summary: 'Generate sparse labelled examples from a linear model and write them',
  options: {
    features: {
      type: 'string',
      value: wholeNumber({ min: 2, max: 2 ** 32 - 1 }),
      default: '100000',
      help: 'Number of features; ids start at 0',
    },
    examples: {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '10000',
      help: 'Number of examples',
    },
    'non-zeros': {
      type: 'string',
      value: wholeNumber({ min: 1, max: MOST_MADE }),
      default: '117',
      help: 'Non-zero features of an example',
    },
    exponent: {
      type: 'string',
      value: anyNumber({ min: 0, below: 4 }),
      default: '1.05',
      help: 'Exponent of the Zipf distribution of the features',
    },
    density: {
      type: 'string',
      value: share({ above: 0, max: 1 }),
      default: '1',
      help: 'Share of features that have a weight',
    },
    noise: { type: 'string', value: share(), default: '0.01', help: 'Share of wrong labels' },
    seed: {
      type: 'string',
      value: wholeNumber(),
      default: '1',
      help: 'Seed of the model behind the labels',
    },
    'stream-seed': {
      type: 'string',
      value: wholeNumber(),
      default: '1',
      help: 'Seed of the examples',
    },
    output: { type: 'string', value: output(), help: 'Output file (default: standard output)' },
  },
  details: `Each label is the sign of the decision value of the model that "weir generate svm-model" publishes with the
same --features, --density and --seed. --noise flips a share of the labels.

Example, with the size of the URL Reputation data set:
  weir generate svm-examples --features 3231961 --examples 100000 --output url.svm`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const shape = {
      features: flags.number('features'),
      nonZeros: flags.number('non-zeros'),
      exponent: flags.number('exponent'),
      density: flags.number('density'),
      noise: flags.number('noise'),
      seed: flags.number('seed'),
    }
    const count = flags.number('examples')
    const path = flags.optional('output')
    const out: Writable = path === undefined ? process.stdout : createWriteStream(path)
    const bar = new ProgressBar(io, 'generating', () => systemClock.monotonicMs())
    const examples = new LinearExamples(shape)
    const random = seededRandom(flags.number('stream-seed'))
    const text = new LibsvmWriter()
    for (let n = 1; n <= count; n++) {
      const { label, ids, values: numbers } = examples.next(random)
      text.add(label, ids, numbers)
      if (n % CHUNK !== 0 && n !== count) continue
      // The stream keeps the bytes until they are written, so it gets a copy.
      const more = out.write(text.bytes.slice(0, text.length))
      text.reset()
      if (path !== undefined) bar.update(n, count)
      if (!more) await once(out, 'drain')
      // Signals are delivered between two pieces.
      else await setImmediate()
    }
    bar.finish()
    if (path === undefined) return 0
    out.end()
    await once(out, 'close')
    io.out(
      flags.boolean('json')
        ? JSON.stringify({ ...shape, examples: count, output: path })
        : `${counted(count, 'example')} in ${path}`,
    )
    return 0
  },
}
