import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WeirClient } from '../../src/client/weir-client.ts'
import { isWeirError } from '../../src/core/errors.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import { freePorts } from '../../test/services/free-port.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { bytesOf, servedShape } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'
import { WeirRun, weirCommand } from '../served/weir-run.ts'

const ROUNDS = 3
const LOOK_EVERY_MS = 5
/** The client asks again at RESTORING by itself: as often as this benchmark looks, so that its waits are not measured. */
const RETRY = { maxAttempts: 1, maxMs: LOOK_EVERY_MS }
/** Keys that no model has. The answer is RESTORING until a slot has restored all its rows, then UNKNOWN_KEY. */
const ABSENT = Array.from({ length: 64 }, (_, i) => `absent${i}-U`)

/** Numbers of the complete checkpoints of the only job in the folder. */
function completedCheckpoints(directory: string): number[] {
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return found.flatMap((path) => /chk-(\d+)\/_metadata$/.exec(path)?.slice(1).map(Number) ?? [])
}

/** Resolves when a checkpoint is complete that was triggered after this call. */
async function waitForCheckpoint(directory: string): Promise<void> {
  const last = Math.max(0, ...completedCheckpoints(directory))
  // The next checkpoint may have been triggered before; the one after it was not.
  while (Math.max(0, ...completedCheckpoints(directory)) < last + 2) await pause(50)
}

async function firstAnswer(port: number): Promise<void> {
  for (;;) {
    try {
      await using client = await WeirClient.connect({ port, retry: RETRY, deadlineMs: 1000 })
      await client.predict(ALS_MODEL, '1-U', '1-I')
      return
    } catch (error) {
      if (!isWeirError(error)) throw error
      await pause(LOOK_EVERY_MS)
    }
  }
}

async function allRestored(port: number): Promise<void> {
  await using client = await WeirClient.connect({ port, retry: RETRY, deadlineMs: 1000 })
  for (;;) {
    const answers = await client.rows(ALS_MODEL, ABSENT)
    if (answers.every((answer) => !answer.ok && answer.error.code === 'UNKNOWN_KEY')) return
    await pause(LOOK_EVERY_MS)
  }
}

/** `recovery`: from SIGKILL of the serving process to the first answer, and to all state in memory. */
export const recoveryBenchmark: Benchmark = {
  name: 'recovery',
  summary: 'from SIGKILL to the first answered query, and to all of 1 GB of state in memory',
  async run({ scale, say, scratch, workspace }) {
    await workspace.stopServing()
    await workspace.stopRedis()
    const shape = servedShape(scale)
    const { data } = await workspace.model(shape)
    mkdirSync(join(scratch, 'weir'), { recursive: true })
    symlinkSync(data.log, join(scratch, 'weir', 'log'))
    const [port] = (await freePorts(1)) as [number]
    const command = weirCommand(say)
    const start = (interval: string): WeirRun =>
      new WeirRun(command, [
        ...['--data-dir', join(scratch, 'weir'), '--port', String(port)],
        ...['-D', 'state.backend.memory.budget=8gb'],
        ...['-D', `execution.checkpointing.interval=${interval}`],
      ])
    let server = start('1s')
    try {
      await server.live
      await server.whileItRuns(waitForCheckpoint(join(scratch, 'weir', 'checkpoints')))
      const first: number[] = []
      const all: number[] = []
      for (let i = 0; i < ROUNDS; i++) {
        await pause(1000)
        const killed = performance.now()
        await server.kill()
        server = start('10s')
        await server.whileItRuns(firstAnswer(port))
        first.push((performance.now() - killed) / 1000)
        await server.whileItRuns(allRestored(port))
        all.push((performance.now() - killed) / 1000)
        say(
          `round ${i + 1}: first answer after ${first[i]!.toFixed(2)} s, all after ${all[i]!.toFixed(2)} s`,
        )
      }
      const build = command.endsWith('.ts') ? 'sources' : 'package'
      const details = { rounds: ROUNDS, stateMb: Math.round(bytesOf(shape) / 1e6), build }
      const facts = { unit: 's', higher: false, details }
      return [
        { ...facts, name: 'recovery-first-answer', value: rounded(median(first)), target: 1 },
        { ...facts, name: 'recovery-all-in-memory', value: rounded(median(all)), target: 3 },
      ]
    } finally {
      await server.kill()
    }
  },
}
