import { beforeEach, describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { type EndableModel, LimitedModel } from '../../../src/inference/workers/limited-model.ts'

const LIMIT = 1000
const LOST = new WeirError('WORKER_LOST', 'it ended')

/** Process whose memory and runs the test decides. */
class FakeProcess implements EndableModel {
  readonly signature = { inputs: [], outputs: [] }
  readonly pid: number
  bytes = 10
  isEnded = false
  private reject: (error: unknown) => void = () => {}

  constructor(pid: number) {
    this.pid = pid
  }

  async open(): Promise<void> {}

  run(): Promise<readonly never[]> {
    if (this.bytes < LIMIT) return Promise.resolve([])
    return new Promise((_, reject) => {
      this.reject = reject
    })
  }

  lose(): void {
    this.reject(LOST)
  }

  end(error: WeirError): void {
    this.isEnded = true
    this.reject(error)
  }

  async close(): Promise<void> {
    this.isEnded = true
  }
}

let processes: FakeProcess[]
let exceeded: number

const open = (prepare: (process: FakeProcess) => void = () => {}) =>
  LimitedModel.open({
    limitBytes: LIMIT,
    start: async () => {
      const process = new FakeProcess(processes.length)
      prepare(process)
      processes.push(process)
      return process
    },
    bytesOf: async (pid) => processes[pid]!.bytes,
    onExceeded: () => exceeded++,
  })

beforeEach(() => {
  processes = []
  exceeded = 0
})

describe('a model with a limit of memory', () => {
  it('is ended in the middle of a run that takes more, and another process runs the next one', async () => {
    const model = await open()
    processes[0]!.bytes = LIMIT + 1
    await expect(model.run([], 1)).rejects.toMatchObject({ code: 'MODEL_MEMORY_EXCEEDED' })
    expect(processes[0]!.isEnded).toBe(true)
    expect(await model.run([], 1)).toEqual([])
    expect(processes).toHaveLength(2)
    expect(exceeded).toBe(1)
  })

  it('keeps its process while it takes no more than the limit', async () => {
    const model = await open()
    processes[0]!.bytes = LIMIT - 1
    for (let i = 0; i < 3; i++) {
      await model.run([], 1)
      await model.refresh()
    }
    expect(processes).toHaveLength(1)
    expect(exceeded).toBe(0)
  })

  it('gets another process between two runs when one keeps more than the limit', async () => {
    const model = await open()
    await model.run([], 1)
    processes[0]!.bytes = LIMIT + 1
    await model.refresh()
    expect(processes.map(({ isEnded }) => isEnded)).toEqual([true, false])
    expect(exceeded).toBe(1)
  })

  it.each([
    ['long', (process: FakeProcess) => process.run().then(() => {})],
    ['short', async () => {}],
  ])('cannot be loaded where a %s load takes more', async (_, load) => {
    const loading = open((process) => {
      process.bytes = LIMIT + 1
      process.open = () => load(process)
    })
    await expect(loading).rejects.toMatchObject({ code: 'MODEL_MEMORY_EXCEEDED' })
    expect(processes[0]!.isEnded).toBe(true)
  })

  it('passes on the loss of its process, which is none of its own doing', async () => {
    const model = await open()
    processes[0]!.bytes = LIMIT
    const running = model.run([], 1)
    processes[0]!.lose()
    await expect(running).rejects.toBe(LOST)
    expect(exceeded).toBe(0)
  })
})
