import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { jobIdOf } from '../../../../src/jobs/serve/job-id.ts'
import { until } from '../../../run/until.ts'
import { type CommandProcess, weir } from '../../cli/command-process.ts'
import { expectedOf, piecesOf, VAD } from './speech.ts'

const SETTINGS =
  'slo-ms: 60000\nsequence: { state: { state: { output: stateN, shape: [2, 1, 128] } }, ttl-ms: 600000 }\n'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-sequence-restarts-'))
  const root = join(folder, 'models')
  await pushModel(nodeFileSystem, { root, name: 'vad', file: VAD })
  await writeFile(join(root, 'vad', 'deployment.yaml'), SETTINGS)
})
afterAll(() => rm(folder, { recursive: true }))

interface Answer {
  readonly status: number
  readonly body: {
    readonly error?: string
    readonly code?: string
    readonly details?: Readonly<Record<string, string | number>>
    readonly parameters?: { readonly sequence_step: string }
    readonly outputs?: readonly { readonly data: readonly number[] }[]
  }
}

/** `weir run models`, which keeps the states of sequences. */
class Served implements AsyncDisposable {
  readonly command: CommandProcess
  private url = ''

  constructor(...flags: readonly string[]) {
    const ports = ['--port', '0', '--http', '127.0.0.1:0', '-D', 'rest.enabled=false']
    this.command = weir(['run', 'models', ...ports, ...flags], { cwd: folder })
  }

  /** What it says of the checkpoints, when the model answers. */
  async ready(): Promise<string> {
    const [, url] = await this.command.printed(/(http:\/\/127\.0\.0\.1:\d+)\/v2/)
    this.url = url!
    await this.command.printed(/1 of 1 models answer/)
    return (await this.command.printed(/models: states of sequences are .*/))[0]
  }

  async hear(id: string, piece: Float32Array, parameters: object = {}): Promise<Answer> {
    const response = await fetch(`${this.url}/v2/models/vad/infer`, {
      method: 'POST',
      body: JSON.stringify({
        parameters: { sequence_id: id, ...parameters },
        inputs: [
          { name: 'input', datatype: 'FP32', shape: [1, 576], data: [...piece] },
          { name: 'sr', datatype: 'INT64', shape: [], data: [16000] },
        ],
      }),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }

  /** Ends it, and returns what it printed. */
  async end(signal: NodeJS.Signals): Promise<string> {
    this.command.signal(signal)
    const { stderr } = await this.command.ended
    return stderr
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.command[Symbol.asyncDispose]()
  }
}

const KEPT = ['-D', 'execution.checkpointing.interval=100ms']

/** Number of the newest checkpoint that is complete; 0 for none. */
async function newestCheckpoint(): Promise<number> {
  const job = jobIdOf(`models ${join(folder, 'models')}`)
  const names = await readdir(join(folder, '.weir', 'checkpoints', job))
  const numbers = names.map((name) => Number(/-completed-(\d+)$/.exec(name)?.[1] ?? 0))
  return Math.max(0, ...numbers)
}

/** The answer, which must be one. */
function heardIn({ body }: Answer): number {
  expect(body.error).toBeUndefined()
  return body.outputs![0]!.data[0]!
}

function expectClose(heard: readonly number[], expected: readonly number[]): void {
  expect(heard).toHaveLength(expected.length)
  expected.forEach((value, at) => {
    expect(Math.abs(heard[at]! - value), `piece ${at}`).toBeLessThan(1e-4)
  })
}

describe('weir run models that keeps the states of sequences', () => {
  it('goes on after a planned restart as if nothing had been', async () => {
    const pieces = piecesOf(1)
    const heard: number[] = []
    {
      await using first = new Served(...KEPT)
      expect(await first.ready()).toContain(
        `kept in checkpoints in ${join(folder, '.weir', 'checkpoints')}, every 100 ms; there was none to restore`,
      )
      for (const [i, piece] of pieces.slice(0, 7).entries()) {
        heard.push(heardIn(await first.hear('call', piece, { sequence_start: i === 0 })))
      }
      const said = await first.end('SIGINT')
      expect(said).toMatch(/models: checkpoint \d+ is the last one/)
    }
    await using second = new Served(...KEPT)
    expect(await second.ready()).toMatch(/; checkpoint \d+ of \S+ has 1 sequence$/)
    for (const piece of pieces.slice(7)) heard.push(heardIn(await second.hear('call', piece)))
    expectClose(heard, await expectedOf(pieces))
    // Without the state the answers would be others.
    const [alone] = await expectedOf(pieces.slice(7, 8))
    expect(Math.abs(heard[7]! - alone!)).toBeGreaterThan(1e-3)
  })

  it('goes on after kill -9 from the step that it says, and answers nothing from another one', async () => {
    const pieces = piecesOf(2)
    const expected = await expectedOf(pieces)
    const heard: number[] = []
    const steps: string[] = []
    {
      await using killed = new Served(...KEPT)
      await killed.ready()
      const say = async (at: number): Promise<void> => {
        const more = at === 0 ? { sequence_start: true } : { sequence_after: steps[at - 1] }
        const answer = await killed.hear('talk', pieces[at]!, more)
        heard.push(heardIn(answer))
        steps.push(answer.body.parameters!.sequence_step)
      }
      for (let at = 0; at < 6; at++) await say(at)
      // The second one from now on began after these answers.
      const before = await newestCheckpoint()
      await until('two checkpoints', async () => (await newestCheckpoint()) >= before + 2)
      for (let at = 6; at < 12; at++) await say(at)
      await killed.end('SIGKILL')
    }
    expectClose(heard, expected.slice(0, 12))
    await using next = new Served(...KEPT)
    expect(await next.ready()).toContain('may lack their last answers')
    const unnamed = await next.hear('talk', pieces[12]!)
    expect(unnamed.status).toBe(409)
    expect(unnamed.body.code).toBe('SEQUENCE_OUT_OF_STEP')
    const { step, sequenceStep } = unnamed.body.details!
    const stored = Number(step)
    expect(stored).toBeGreaterThanOrEqual(6)
    expect(sequenceStep).toBe(steps[stored - 1])
    const again: number[] = []
    let after = String(sequenceStep)
    for (const piece of pieces.slice(stored)) {
      const answer = await next.hear('talk', piece, { sequence_after: after })
      again.push(heardIn(answer))
      after = answer.body.parameters!.sequence_step
    }
    expectClose([...heard.slice(0, stored), ...again], expected)
  })

  it('refuses the states of another version, and a second process', async () => {
    const [piece] = piecesOf(3)
    {
      await using first = new Served(...KEPT)
      await first.ready()
      heardIn(await first.hear('old', piece!, { sequence_start: true }))
      await using second = new Served(...KEPT)
      const { code, stderr } = await second.command.ended
      expect(stderr).toContain('JOB_ALREADY_RUNNING')
      expect(code).not.toBe(0)
      await first.end('SIGTERM')
    }
    await pushModel(nodeFileSystem, { root: join(folder, 'models'), name: 'vad', file: VAD })
    await using next = new Served(...KEPT)
    await next.ready()
    const { status, body } = await next.hear('old', piece!)
    expect([status, body.code]).toEqual([409, 'SEQUENCE_LOST'])
    expect(body.error).toContain('began on another version, or under other settings')
  })

  it('keeps them in memory only where it has no checkpoints, and says how it would', async () => {
    await using server = new Served()
    expect(await server.ready()).toContain(
      'in memory only: a restart ends all sequences; -D execution.checkpointing.interval=10s keeps them',
    )
  })
})
