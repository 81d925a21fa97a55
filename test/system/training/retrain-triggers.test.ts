import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandProcess, type CommandResult, weir } from '../cli/command-process.ts'

let folder: string
let data: string
let lines: string[]

async function run(...args: string[]): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data])
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-rt-'))
  data = join(folder, 'data')
  const file = join(folder, 'ratings.data')
  const size = ['--users', '60', '--items', '30', '--ratings', '2000']
  await inProcess(['generate', 'ratings', ...size, '--output', file])
  lines = readFileSync(file, 'utf8').replaceAll('\t', ',').trim().split('\n')
  // Without times, a version does not say how old its data is.
  const untimed = lines.map((line) => line.split(',').slice(0, 3).join(','))
  writeFileSync(file, `${untimed.join('\n')}\n`)
  await run('train', 'als', '--ratings', file, '--factors', '4', '--iterations', '3')
})

afterAll(async () => {
  for (const job of running) await job[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** A job of the model, its port, and whatever ends it. */
async function started(...args: string[]): Promise<{ job: CommandProcess; port: string }> {
  const job = weir([...args, '--data-dir', data, '--port', '0', '--json'])
  running.push(job)
  const port = (await job.printed(/"started","port":(\d+)/))[1]!
  await job.printed(/"event":"(live|learning)","version":1/)
  return { job, port }
}

async function ended(process: CommandProcess): Promise<CommandResult> {
  process.signal('SIGINT')
  return await process.ended
}

/** What a failed test has left running ends with the file. */
const running: CommandProcess[] = []

const retrainArgs = (...args: string[]) => ['retrain', '--data-dir', data, ...args]

async function produce(text: string): Promise<void> {
  const produced = await inProcess(['topic', 'produce', 'ratings', '--data-dir', data], text)
  expect(produced).toMatchObject({ code: 0 })
}

describe('weir retrain', () => {
  it('ends at once where a trigger can never hold', async () => {
    const { job, port } = await started('run', 'als-serving')
    const refused = await inProcess(retrainArgs('--port', port, '--error-level', '0.1'))
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('UNKNOWN_TOPIC: there is no topic ratings to train on')
    expect(refused.stderr).toContain('weir topic create ratings')
    await run('topic', 'create', 'ratings', '--partitions', '1')
    for (const [flag, value] of [
      ['--error-level', '0.1'],
      ['--error-rise', '0.1'],
      ['--on-drift', 'adwin'],
    ] as const) {
      const { code, stderr } = await inProcess(retrainArgs('--no-serving', flag, value))
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${flag} reads the error`)])
    }
    const aged = await inProcess(retrainArgs('--no-serving', '--freshness', '60'))
    expect(aged.code).toBe(2)
    expect(aged.stderr).toContain('--freshness can never hold: version 1 does not say')
    await ended(job)
  })

  it('beside a job that serves says that it predicts, what it left out, and fires', async () => {
    const { job, port } = await started('run', 'als-serving')
    const triggers = ['--error-level', '0.001', '--on-drift', 'adwin', '--count', '1000']
    await using loop = weir(retrainArgs('--port', port, '--interval', '200', ...triggers))
    await loop.printed(
      /--error-level, --on-drift: the job at 127.0.0.1:\d+ does not learn, so each record that topic ratings gets from now on is predicted with version 1 by query \(from 100 on\); "weir learn als"/,
    )
    await loop.printed(/--count: the records of topic ratings that no training has read; now 0/)
    await produce('no rating\nneither\n')
    await loop.printed(
      /2 new records of topic ratings are no observations and are left out of the error, .* partition 0, offset 0/,
    )
    await produce('nothing\n')
    await produce(`${lines.slice(0, 150).join('\n')}\n`)
    await loop.printed(/trigger error-level fired/)
    await loop.printed(/version 2 is a candidate/)
    const { stderr } = await ended(loop)
    expect(stderr.match(/are no observations/g)).toHaveLength(1)
    await ended(job)
  })

  it('beside a job that learns says how many predictions the error is of', async () => {
    // The topic has ratings of the training, which the learner would ask about.
    const observations = ['--observations', 'ratings', '--learn-from', 'start']
    const { job, port } = await started('learn', 'als', ...observations)
    // It says once how many there are.
    await until('all ratings are learned', async () => {
      const error = ['query', 'LEARNING_ERROR', '1', '--values', '--port', port]
      return (await inProcess(error)).stdout.includes('"ratings":150,')
    })
    await using first = weir(retrainArgs('--port', port, '--error-rise', '0.5'))
    await first.printed(
      /--error-rise: LEARNING_ERROR of the job at 127.0.0.1:\d+, version 1, now of 150/,
    )
    await ended(first)
    await ended(job)
  })
})
