import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrapWith,
  EmbeddedLog,
  openTopics,
  SavepointReader,
  SavepointWriter,
  StreamExecutionEnvironment,
} from '../../../src/index.ts'
import { MemorySource, MiniCluster } from '../../../src/testing/index.ts'
import { TestedClient } from '../../client/tested-client.ts'
import type { World } from './calls.ts'

const cleanups: (() => PromiseLike<unknown>)[] = []

/** A client, a log and a job on which calls are made. */
export async function openWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-options-'))
  cleanups.unshift(() => rm(folder, { recursive: true }))
  const tested = new TestedClient()
  cleanups.unshift(() => tested.close())
  const log = await EmbeddedLog.open(join(folder, 'log'))
  cleanups.unshift(() => log.close())
  await log.createTopic('orders')
  const topics = await openTopics({ logDirectory: join(folder, 'log') })
  cleanups.unshift(() => topics[Symbol.asyncDispose]())
  const cluster = new MiniCluster()
  cleanups.unshift(() => cluster.close())
  const env = new StreamExecutionEnvironment()
  env.fromSource(new MemorySource([[1]], { bounded: false })).discard()
  const configuration = { 'execution.checkpointing.dir': join(folder, 'checkpoints') }
  const job = cluster.startLocal(env.graph(), { configuration })
  job.result.catch(() => {})
  await job.waitFor('RUNNING')
  const savepoint = await savepointIn(join(folder, 'savepoint'))
  cleanups.unshift(() => savepoint.close())
  return { client: await tested.start(), log, topics, folder, job, savepoint }
}

/** A savepoint of one operator with keyed state. */
async function savepointIn(folder: string): Promise<SavepointReader> {
  const state = bootstrapWith([1])
    .keyBy((n) => n)
    .transform(() => ({ processElement() {} }))
  await SavepointWriter.newSavepoint(128).withOperator('keyed', state).write(folder)
  return await SavepointReader.read(folder)
}

/** Closes what `openWorld` has opened. */
export async function closeWorld(): Promise<void> {
  for (const cleanup of cleanups) await cleanup()
}
