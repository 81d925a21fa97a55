import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { decodeLinearDelta } from '../../../src/models/linear/delta.ts'
import { deltasTopic } from '../../../src/models/topic/topics.ts'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

const MODEL = 'svm-model'
const TRAINING = 4_000
const GOLDEN = 3_000
/** Numbers of fresh examples after which the accuracy is measured. */
const FRESH = [10, 50, 250, 1000]

let folder: string
let golden: string
let fresh: readonly string[]

async function run(...args: string[]): Promise<CommandResult> {
  const result = await inProcess(args)
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

const at = (name: string): string => join(folder, name)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-learn-trained-'))
  golden = at('golden.svm')
  const shape = ['--features', '124', '--non-zeros', '14', '--noise', '0.1']
  const generate = ['generate', 'svm-examples', '--examples', '8000', ...shape]
  const { stdout } = await weir(generate).ended
  // Both labels are above 0: which one is positive is a fact of the training.
  const lines = stdout.replaceAll(/^-1/gm, '1').replaceAll(/^\+1/gm, '2').trimEnd().split('\n')
  expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(['1', '2']))
  writeFileSync(at('training.svm'), `${lines.slice(0, TRAINING).join('\n')}\n`)
  writeFileSync(golden, `${lines.slice(TRAINING, TRAINING + GOLDEN).join('\n')}\n`)
  fresh = lines.slice(TRAINING + GOLDEN)
  const training = ['--examples', at('training.svm'), '--publish']
  await run('train', 'svm', ...training, '--data-dir', at('trained'))
  await run('model', 'export', '1', at('exported'), '--model', MODEL, '--data-dir', at('trained'))
  await run('model', 'import', at('exported'), '--model', MODEL, '--data-dir', at('imported'))
  await run(
    ...['model', 'promote', '1', '--model', MODEL, '--force', 'the first one'],
    ...['--data-dir', at('imported')],
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Offset of the newest example that was learned. */
async function newestLearned(data: string): Promise<number> {
  await using topics = new LogTopics(join(data, 'log'))
  let newest = -1
  await scanTopic(topics, deltasTopic(MODEL), (record) => {
    newest = Math.max(newest, decodeLinearDelta(record.value()!).offset)
    return true
  })
  return newest
}

it.each(['trained', 'imported'])(
  'a %s SVM answers no worse after it has learned its first fresh examples, with the defaults',
  async (place) => {
    const data = ['--data-dir', at(place)]
    await run('topic', 'create', 'examples', '--partitions', '1', ...data)
    await using learning = weir(['learn', 'svm', '--port', '0', '--json', ...data])
    const [, port] = await learning.printed(/"started","port":(\d+)/)
    await learning.printed(/"event":"learning","version":1/)
    const accuracy = async (): Promise<{ readonly mean: number; readonly low: number }> => {
      const evaluation = ['evaluate', 'svm', '--examples', golden, '--json', '--port', port!]
      const { stdout } = await run(...evaluation, ...data)
      return (JSON.parse(stdout) as { accuracy: { mean: number; low: number } }).accuracy
    }
    const { low, mean } = await accuracy()
    expect(mean).toBeGreaterThan(0.8)
    let sent = 0
    for (const count of FRESH) {
      // The last example has no known feature: its margin is below 1, so it has a delta.
      const lines = [...fresh.slice(sent, count - 1), '2 123456:1']
      const produce = ['topic', 'produce', 'examples', ...data]
      expect(await inProcess(produce, `${lines.join('\n')}\n`)).toMatchObject({ code: 0 })
      sent = count
      await expect.poll(() => newestLearned(at(place)), { interval: 100 }).toBe(count - 1)
      expect((await accuracy()).mean, `after ${count} examples`).toBeGreaterThanOrEqual(low)
    }
    learning.signal('SIGINT')
    await learning.ended
  },
)
