import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { expect, it, onTestFinished } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import type { ExampleError } from '../../../src/jobs/learning/error/example-error.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { inProcess, inProcessPatiently } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandResult, PATIENT, weir } from '../cli/command-process.ts'

const TRAINED = 4000
const FRESH = 1500

/** Files of a first day: what is trained on, and what comes later. */
class FirstDay {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-first-day-'))
  private readonly place: readonly string[]

  /** `kafka`: flags of the Kafka that has the topics. @default the embedded log */
  constructor(kafka: readonly string[]) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }))
    this.place = [...kafka, '--data-dir', join(this.folder, 'data')]
  }

  at(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, lines: readonly string[]): string {
    writeFileSync(this.at(name), `${lines.join('\n')}\n`)
    return this.at(name)
  }

  lines(name: string): string[] {
    return readFileSync(this.at(name), 'utf8').trimEnd().split('\n')
  }

  async run(args: readonly string[], input = ''): Promise<CommandResult> {
    return await inProcessPatiently([...args, ...this.place], input)
  }

  async done(args: readonly string[], input = ''): Promise<string> {
    const result = await this.run(args, input)
    if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
    return result.stdout
  }

  /** Generates lines of a file; a generator has no place of topics. */
  async generate(args: readonly string[]): Promise<readonly string[]> {
    const result = await inProcess(['generate', ...args, '--output', this.at('all')])
    if (result.code !== 0) throw new Error(`weir generate: ${result.stderr}`)
    return this.lines('all')
  }

  /**
   * Starts a learner, and stops it once it has learned `count`; returns its error and what it said. `meanwhile`: runs when it
   * has begun.
   */
  async learned<E>(
    command: readonly string[],
    count: number,
    countOf: (error: E) => number,
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<{ error: E; output: string }> {
    const flags = ['--json', '--port', '0', '-D', 'rest.port=0', ...this.place]
    await using learning = weir([...command, ...flags], { env: PATIENT })
    const [, port] = await learning.printed(/"started","port":(\d+)/)
    const [output] = await learning.printed(/"event":"learning","version":1.*/)
    await meanwhile()
    await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
    let error: E | undefined
    await until(`${count} are learned`, async () => {
      const [answer] = await client.values('LEARNING_ERROR', ['1'])
      error = answer?.ok === true ? (unpack(answer.value) as E) : undefined
      return error !== undefined && countOf(error) >= count
    })
    learning.signal('SIGINT')
    expect(await learning.ended).toMatchObject({ code: 0 })
    return { error: error!, output }
  }
}

/** Rows of `--text-rows`: `id,kind,float;float...`. */
function rowsOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  return new Map(
    lines.map((line) => {
      const [id, kind, floats] = line.split(',')
      return [`${id}-${kind}`, floats!.split(';').map(Number)]
    }),
  )
}

/** Mean squared error of rows on ratings `user item rating time`, by plain products. */
function meanSquaredError(
  rows: ReadonlyMap<string, readonly number[]>,
  ratings: readonly string[],
): number {
  const squares = ratings.flatMap((line) => {
    const [user, item, rating] = line.split('\t')
    const [u, i] = [rows.get(`${user}-U`), rows.get(`${item}-I`)]
    if (u === undefined || i === undefined) return []
    const score = u.reduce((sum, x, n) => sum + x * i[n]!, 0)
    return [(Math.min(5, Math.max(1, score)) - Number(rating)) ** 2]
  })
  return squares.reduce((sum, square) => sum + square, 0) / squares.length
}

/** Share of examples whose label the weights of `--weights` have the sign of. */
function accuracyOf(weightLines: readonly string[], examples: readonly string[]): number {
  const weights = new Map(weightLines.map((line) => line.split(',') as [string, string]))
  const right = examples.filter((line) => {
    const [label, ...features] = line.split(' ')
    let sum = Number(weights.get('bias') ?? 0)
    for (const feature of features) {
      const [id, value] = feature.split(':')
      sum += Number(weights.get(id!) ?? 0) * Number(value)
    }
    return sum > 0 === Number(label) > 0
  })
  return right.length / examples.length
}

/** Takes a test, which is not one of the run. */
const leftOut = (_name: string, _test: () => Promise<void>): void => {}

/** The tests of a place of topics. `isChosen`: whether the run has one of them, by its number. */
export function itLearnsAfterTheFile(
  kafkaFlags: () => readonly string[],
  isChosen: (test: number) => boolean,
): void {
  const nth = (test: number) => (isChosen(test) ? it : leftOut)

  nth(0)(
    'ratings of the training file are in the topic, too: with the defaults only the later ones are learned, and the error is theirs',
    async () => {
      const day = new FirstDay(kafkaFlags())
      const size = ['--users', '200', '--items', '80', '--ratings', String(TRAINED + FRESH)]
      const all = await day.generate(['ratings', ...size])
      const base = day.write('base', all.slice(0, TRAINED))
      const later = day.write('later', all.slice(TRAINED))
      await day.done(['topic', 'create', 'observations'])
      const small = ['--factors', '8', '--iterations', '4', '--threads', '0']
      await day.done(['train', 'als', '--ratings', base, ...small, '--text-rows', day.at('rows')])
      await day.done(['topic', 'produce', 'observations', '--ratings', base])
      await day.done(['topic', 'produce', 'observations', '--ratings', later])
      const { error, output } = await day.learned<RatingError>(
        ['learn', 'als'],
        FRESH,
        ({ ratings }) => ratings,
      )
      expect(output).toContain(
        `the first 4,000 observations of topic observations are those of ${base} that it was trained on, so learning begins after them`,
      )
      const rows = rowsOf(day.lines('rows'))
      const ofFresh = meanSquaredError(rows, all.slice(TRAINED))
      const ofTrained = meanSquaredError(rows, all.slice(0, TRAINED))
      // Learning lowers the error a little; that of the training data is much lower.
      expect(ofFresh - ofTrained).toBeGreaterThan(0.1)
      expect(error.ratings).toBe(FRESH)
      expect(Math.abs(error.mse - ofFresh)).toBeLessThan((ofFresh - ofTrained) / 3)
    },
  )

  nth(1)(
    'examples of the training file are in the topic, too: only the later ones are learned',
    async () => {
      const day = new FirstDay(kafkaFlags())
      const shape = ['--features', '300', '--non-zeros', '12', '--noise', '0.1']
      const count = String(TRAINED / 4 + FRESH)
      const all = await day.generate(['svm-examples', '--examples', count, ...shape])
      const trained = all.slice(0, TRAINED / 4)
      const base = day.write('base', trained)
      await day.done(['topic', 'create', 'examples'])
      await day.done([
        'train',
        'svm',
        '--examples',
        base,
        '--publish',
        '--weights',
        day.at('weights'),
      ])
      await day.done(['topic', 'produce', 'examples'], `${trained.join('\n')}\n`)
      const fresh = all.slice(TRAINED / 4)
      await day.done(['topic', 'produce', 'examples'], `${fresh.join('\n')}\n`)
      const { error, output } = await day.learned<ExampleError>(
        ['learn', 'svm'],
        FRESH,
        (found) => found.examples,
      )
      expect(output).toContain(
        `the first 1,000 observations of topic examples are those of ${base}`,
      )
      const ofFresh = accuracyOf(day.lines('weights'), fresh)
      const ofTrained = accuracyOf(day.lines('weights'), trained)
      expect(ofTrained - ofFresh).toBeGreaterThan(0.05)
      expect(error.examples).toBe(FRESH)
      expect(Math.abs(error.accuracy - ofFresh)).toBeLessThan((ofTrained - ofFresh) / 2)
    },
  )

  nth(2)(
    'a learner that cannot tell which records were in the file asks, and takes the answer for good',
    async () => {
      const day = new FirstDay(kafkaFlags())
      const size = ['--users', '50', '--items', '30', '--ratings', '1500']
      const all = await day.generate(['ratings', ...size])
      const base = day.write('base', all.slice(0, 1000))
      const most = day.write('most', all.slice(200, 1200))
      await day.done(['topic', 'create', 'asked'])
      const model = ['--topic', 'asked-model']
      const names = [...model, '--observations', 'asked']
      const small = ['--factors', '4', '--iterations', '2', '--threads', '0']
      await day.done(['train', 'als', '--ratings', base, ...small, ...model])
      await day.done(['topic', 'produce', 'asked', '--ratings', most])
      const learn = ['learn', 'als', ...names, '--port', '0', '-D', 'rest.port=0']
      const asked = await day.run(learn)
      expect(asked.code).toBe(1)
      expect(asked.stderr).toContain(
        'so some of the 1,000 records of topic asked that are there may be among them: they would be learned twice',
      )
      expect(asked.stderr).toContain(
        '--learn-from start learns them all, --learn-from end none of them',
      )
      // It has learned nothing before it asked.
      const restarted = await day.run(learn)
      expect(restarted.stderr).toContain('--learn-from start learns them all')
      const later = day.write('later', all.slice(1200, 1400))
      const { error, output } = await day.learned<RatingError>(
        ['learn', 'als', ...names, '--learn-from', 'end'],
        200,
        ({ ratings }) => ratings,
        () => day.done(['topic', 'produce', 'asked', '--ratings', later]),
      )
      expect(output).toContain('the 1,000 records of topic asked that are there are left out')
      expect(error.ratings).toBe(200)
      await day.done([
        ...['topic', 'produce', 'asked', '--ratings'],
        day.write('last', all.slice(1400)),
      ])
      const again = await day.learned<RatingError>(
        ['learn', 'als', ...names],
        300,
        ({ ratings }) => ratings,
      )
      expect(again.error.ratings).toBe(300)
    },
  )

  const begins = [
    ['start', 500],
    ['end', 200],
  ] as const
  it.each(begins.filter((_, n) => isChosen(3 + n)))(
    'a learner of a version that does not say what it was trained on learns from the %s of the records that are there, and says so once',
    async (learnFrom, learned) => {
      const day = new FirstDay(kafkaFlags())
      const topic = `said-${learnFrom}`
      const model = ['--topic', `${topic}-model`]
      const names = [...model, '--observations', topic]
      const size = ['--users', '50', '--items', '30']
      const all = await day.generate(['ratings', ...size, '--ratings', '600'])
      const produce = async (from: number, to: number): Promise<void> => {
        const lines = day.write('part', all.slice(from, to))
        await day.done(['topic', 'produce', topic, '--ratings', lines])
      }
      const learn = async (flags: readonly string[], count: number, from: number, to: number) =>
        await day.learned<RatingError>(
          ['learn', 'als', ...names, ...flags],
          count,
          ({ ratings }) => ratings,
          () => produce(from, to),
        )
      await day.done(['topic', 'create', topic, '--partitions', '2'])
      await day.done(['generate', 'als-model', ...size, '--factors', '4', ...model])
      await produce(0, 300)
      // Without the flag it begins at the start.
      const flags = learnFrom === 'end' ? ['--learn-from', 'end'] : []
      const first = await learn(flags, learned, 300, 500)
      expect(first.output).toContain(`the 300 records of topic ${topic} that are there`)
      expect(first.output).toContain(learnFrom === 'end' ? 'left out' : 'learned (--learn-from end')
      expect(first.error.ratings).toBe(learned)
      const again = await learn([], learned + 100, 500, 600)
      expect(again.output).not.toContain('that are there')
      expect(again.error.ratings).toBe(learned + 100)
    },
  )
}
