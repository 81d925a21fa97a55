import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { inProcess, inProcessPatiently } from '../../cli/command-here.ts'
import { type CommandResult, jsonLines, PATIENT, weir } from '../cli/command-process.ts'

/** Ratings of each machine. */
const RATINGS = 2000
const SMALL = ['--factors', '4', '--iterations', '2', '--threads', '0']

let folder: string
/** Ratings of the first machine, one a line, and those of the second: all turned round. */
let ratings: readonly string[]
let turned: readonly string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-moved-'))
  const file = join(folder, 'ratings.data')
  const size = ['--users', '60', '--items', '40', '--ratings', String(RATINGS)]
  await inProcess(['generate', 'ratings', ...size, '--output', file])
  ratings = readFileSync(file, 'utf8').trim().split('\n')
  turned = ratings.map((line) => {
    const [user, item, rating, time] = line.split('\t')
    return [user, item, 6 - Number(rating), time].join('\t')
  })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a command on the data folder of a machine. */
async function on(machine: string, args: readonly string[], input = ''): Promise<CommandResult> {
  return await inProcessPatiently([...args, '--data-dir', join(folder, machine)], input)
}

async function done(machine: string, args: readonly string[], input = ''): Promise<CommandResult> {
  const result = await on(machine, args, input)
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

async function learnedOn(port: number): Promise<number> {
  await using client = await WeirClient.connect({ port, deadlineMs: 60_000 })
  const [answer] = await client.values('LEARNING_ERROR', ['1'])
  if (answer?.ok !== true) return 0
  return msgpackSerializer<RatingError>().read(new ByteReader(answer.value)).ratings
}

it('a model that moves to a machine with other ratings in a topic of the same name takes no positions along', async () => {
  const file = join(folder, 'version.weirmodel')
  const csv = (lines: readonly string[]): string => `${lines.join('\n').replaceAll('\t', ',')}\n`
  const retrain = ['retrain', '--once', '--no-serving', ...SMALL, '--json']
  for (const [machine, lines] of [
    ['a', ratings],
    ['b', turned],
  ] as const) {
    await done(machine, ['topic', 'create', 'ratings', '--partitions', '1'])
    await done(machine, ['topic', 'produce', 'ratings'], csv(lines))
  }
  await done('a', retrain)
  await done('a', ['model', 'export', '1', file])
  await done('b', ['model', 'import', file])
  const shown = await done('b', ['model', 'show', '1'])
  const { stdout: topics } = await done('a', ['topic', 'list', '--json'])
  const { id } = jsonLines(topics).find(({ topic }) => topic === 'ratings') as { id: string }
  expect(shown.stdout).toContain(`topic            ratings, id ${id}`)
  await done('b', ['model', 'promote', '1', '--force', 'a test'])

  // The learner: all that is there is new.
  const flags = ['--observations', 'ratings', '--port', '0', '-p', '1', '--json']
  await using learning = weir(['learn', 'als', ...flags, '--data-dir', join(folder, 'b')])
  const port = Number((await learning.printed(/"started","port":(\d+)/))[1])
  await learning.printed(
    /"event":"learning","version":1,"note":"it was trained on another topic than this ratings, so the 2,000 records/,
  )
  await expect.poll(() => learnedOn(port), { interval: 200 }).toBe(RATINGS)

  // The check: golden ratings of this machine are not among the training data of the other one.
  const golden = join(folder, 'golden.data')
  writeFileSync(golden, `${turned.slice(0, 1200).join('\n')}\n`)
  const checked = await on('b', [
    'model',
    'promote',
    '1',
    '--golden',
    golden,
    '--port',
    String(port),
  ])
  expect(checked.stderr).toContain('version 1 was not trained on topic ratings of the embedded log')
  expect(checked.stderr).not.toContain('golden ratings in the training data')

  // The retraining: these ratings were in no training.
  const { stdout } = await done('b', retrain)
  expect(jsonLines(stdout)).toMatchObject([{ event: 'candidate', version: { number: 2 } }])
  learning.signal('SIGINT')
  expect(await learning.ended).toMatchObject({ code: 0 })
})

it('a model that comes to a copy of its log that went its own way is not taken for one of these records', async () => {
  const csv = (lines: readonly string[]): string => `${lines.join('\n').replaceAll('\t', ',')}\n`
  const retrain = ['retrain', '--once', '--no-serving', ...SMALL, '--json']
  const half = RATINGS / 2
  await done('c', ['topic', 'create', 'ratings', '--partitions', '1'])
  await done('c', ['topic', 'produce', 'ratings'], csv(ratings.slice(0, half)))
  cpSync(join(folder, 'c'), join(folder, 'd'), { recursive: true })
  await done('c', ['topic', 'produce', 'ratings'], csv(ratings.slice(half)))
  await done('d', ['topic', 'produce', 'ratings'], csv(turned.slice(half)))
  await done('c', retrain)
  const file = join(folder, 'diverged.weirmodel')
  await done('c', ['model', 'export', '1', file])
  await done('d', ['model', 'import', file])
  await done('d', ['model', 'promote', '1', '--force', 'a test'])

  // The learner: nobody knows which of the records the version has seen.
  const learn = ['learn', 'als', '--observations', 'ratings', '--port', '0', '-D', 'rest.port=0']
  const asked = await on('d', learn)
  expect(asked.code).toBe(1)
  expect(asked.stderr).toMatch(
    /but not on the records that are there now \(the training read 2000 ratings with digest [0-9a-f]{16} at offsets 0 to 2000 of ratings\/0, which has 2000 with [0-9a-f]{16} there now\): the topic was rewritten, or it is a copy that went its own way/,
  )
  expect(asked.stderr).toContain(
    '--learn-from start learns them all, --learn-from end none of them',
  )
  const flags = ['--learn-from', 'end', '--json', '--data-dir', join(folder, 'd')]
  await using learning = weir([...learn, ...flags], { env: PATIENT })
  const port = Number((await learning.printed(/"started","port":(\d+)/))[1])
  await learning.printed(/"event":"learning","version":1/)

  // The check does not read other records as its training data.
  const golden = join(folder, 'diverged-golden.data')
  writeFileSync(golden, `${ratings.slice(0, half).join('\n')}\n`)
  const check = ['model', 'promote', '1', '--golden', golden, '--port', String(port)]
  const checked = await on('d', check)
  expect(checked.stderr).toContain('version 1 was trained on other records than topic ratings')
  expect(checked.stderr).not.toContain('golden ratings in the training data')

  // The retraining is no repetition, the second time it is one; at home it always was.
  const { stdout, stderr } = await done('d', retrain)
  expect(stderr).toContain('version 1 was trained at the same offsets, but on other records')
  expect(jsonLines(stdout)).toMatchObject([{ event: 'candidate', version: { number: 2 } }])
  const again = await done('d', retrain)
  expect(jsonLines(again.stdout)).toMatchObject([{ event: 'exists', version: { number: 2 } }])
  const home = await done('c', retrain)
  expect(jsonLines(home.stdout)).toMatchObject([{ event: 'exists', version: { number: 1 } }])
  learning.signal('SIGINT')
  expect(await learning.ended).toMatchObject({ code: 0 })
})
