import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, type CommandResult, jsonLines, weir } from './command-process.ts'

let folder: string
let data: string
let lines: string
let learning: CommandProcess
let port: string

async function run(...args: string[]): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data])
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-rc-'))
  data = join(folder, 'data')
  const file = join(folder, 'ratings.data')
  const size = ['--users', '60', '--items', '30', '--ratings', '3000']
  await inProcess(['generate', 'ratings', ...size, '--output', file])
  lines = readFileSync(file, 'utf8').replaceAll('\t', ',')
  const small = ['--factors', '4', '--iterations', '3', '--threads', '0']
  await run('train', 'als', '--ratings', file, ...small)
  await run('topic', 'create', 'ratings', '--partitions', '2')
  const args = ['--observations', 'ratings', '--port', '0', '--json']
  learning = weir(['learn', 'als', '--data-dir', data, ...args])
  port = (await learning.printed(/"started","port":(\d+)/))[1]!
  await learning.printed(/"event":"learning","version":1/)
})

afterAll(async () => {
  learning?.signal('SIGINT')
  await learning?.ended
  rmSync(folder, { recursive: true, force: true })
})

describe('commands beside weir learn als on the embedded log', () => {
  it('add observations, retrain and promote while the job owns the log', async () => {
    const produced = weir(['topic', 'produce', 'ratings', '--data-dir', data]).input(lines)
    expect(await produced.ended).toMatchObject({ code: 0 })
    const { stdout } = await run(
      ...['retrain', '--once', '--port', port, '--factors', '4', '--iterations', '3', '--json'],
    )
    expect(jsonLines(stdout)).toMatchObject([{ event: 'candidate', version: { number: 2 } }])
    await run('model', 'promote', '2', '--force', 'a test', '--port', port)
    await learning.printed(/"event":"learning","version":2/)
    await produceOne()
    // What it was trained on it does not learn again: the one observation since is all.
    await using client = await WeirClient.connect({ port: Number(port), deadlineMs: 60_000 })
    const learned = async (): Promise<number> => {
      const [answer] = await client.values('LEARNING_ERROR', ['2'])
      if (answer?.ok !== true) return 0
      return msgpackSerializer<RatingError>().read(new ByteReader(answer.value)).ratings
    }
    await expect.poll(learned, { interval: 100 }).toBe(1)
  })
})

describe('candidates that are refused', () => {
  it('are deleted as --retain says, though nothing was promoted', async () => {
    const golden = join(folder, 'golden.csv')
    writeFileSync(golden, lines.split('\n').slice(0, 500).join('\n'))
    const refused = async (lambda: string): Promise<string> => {
      const words = ['retrain', '--once', '--golden', golden, '--retain', '1', '--trainer', 'als']
      const { code, stderr } = await weir([
        ...[...words, '--lambda', lambda, '--no-warm-start', '--port', port, '--data-dir', data],
      ]).ended
      expect({ code, stderr }).toMatchObject({ code: 1 })
      expect(stderr).toContain('FAILED')
      return stderr
    }
    await refused('300')
    expect(await refused('301')).toMatch(/retired version 3 of als-model: \d+ rows deleted/)
    const { stdout } = await run('model', 'list', '--json')
    expect(jsonLines(stdout).map(({ number, state }) => [number, state])).toEqual([
      [1, 'replaced'],
      [2, 'live'],
      [3, 'retired'],
      [4, 'candidate'],
    ])
  })
})

describe('a read of at least a position', () => {
  it('is refused at once if its source has no such partition', async () => {
    const read = ['query', 'ALS_MODEL', '1-U', '--consistency', 'at-least:1:77:0', '--port', port]
    const { code, stderr } = await weir(read).ended
    expect(code).not.toBe(0)
    expect(stderr).toMatch(
      /INVALID_ARGUMENT: .*partition 77 of source ".*", which has partitions 0 to 1/,
    )
  })
})

async function produceOne(): Promise<void> {
  const produced = weir(['topic', 'produce', 'ratings', '--data-dir', data]).input('1,2,3\n')
  expect(await produced.ended).toMatchObject({ code: 0 })
}
