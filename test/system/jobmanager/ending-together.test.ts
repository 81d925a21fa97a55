import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../run/until.ts'
import { REPOSITORY } from '../cli/command-process.ts'
import { TestCluster } from './cluster-fixture.ts'

const source = (path: string): string => pathToFileURL(join(REPOSITORY, 'src', path)).href

/** A job whose sink never ends a checkpoint: its last one waits for as long as it may. */
const HELD_BACK = `import { defineJob, noWatermarks } from '${source('index.ts')}'
import { GeneratorSource } from '${source('connectors/memory/generator-source.ts')}'
const sink = () => ({
  open: async () => {},
  write: () => {},
  ready: () => true,
  whenReady: async () => {},
  prepareCommit: () => new Promise(() => {}),
  commit: async () => {},
  close: async () => {},
})
export default defineJob({
  name: 'held-back',
  build(env) {
    const numbers = new GeneratorSource({ partitions: 1, generate: (index) => index, ratePerSecond: 100 })
    env.fromSource(numbers, noWatermarks(), 'numbers').uid('numbers')
      .sinkTo({ guarantee: 'none', createWriter: sink }).uid('waiting')
  },
})
`

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

it('cluster stop ends a job that can end, while another one still waits for its last checkpoint', async () => {
  const modules = mkdtempSync(join(tmpdir(), 'weir-ending-'))
  onTestFinished(() => rmSync(modules, { recursive: true }))
  await using cluster = await TestCluster.start('--modules', modules)
  const module = join(modules, 'held-back.ts')
  writeFileSync(module, HELD_BACK)
  const longer = ['-D', 'execution.checkpointing.shutdown-timeout=10min']
  const slow = await cluster.submit('run', module, ...longer)
  const quick = await cluster.submit('run', 'als-serving')
  for (const job of [slow, quick]) await cluster.reaches(job, 'RUNNING')
  const [slowPid, quickPid] = [await cluster.jobPid(slow), await cluster.jobPid(quick)]
  const stopping = cluster.local('cluster', 'stop')
  await until('the quick job has ended', () => !lives(quickPid))
  expect(lives(slowPid)).toBe(true)
  process.kill(slowPid, 'SIGKILL')
  await stopping
})
