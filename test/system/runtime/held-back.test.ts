import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../run/until.ts'
import { type CommandProcess, jsonLines, REPOSITORY, weir } from '../cli/command-process.ts'

const source = (path: string): string => pathToFileURL(join(REPOSITORY, 'src', path)).href

/** A job whose sink takes 100 records and is full from then on. */
const JOB = `import { defineJob, noWatermarks } from '${source('index.ts')}'
import { GeneratorSource } from '${source('connectors/memory/generator-source.ts')}'
const sink = () => {
  let left = 100
  return {
    open: async () => {},
    write: () => void (left -= 1),
    ready: () => left > 0,
    whenReady: () => new Promise(() => {}),
    prepareCommit: async () => [],
    commit: async () => {},
    close: async () => {},
  }
}
export default defineJob({
  name: 'held-back',
  build: (env) => {
    env
      .fromSource(new GeneratorSource({ partitions: 2, generate: (index) => index }), noWatermarks(), 'numbers')
      .uid('numbers')
      .rebalance()
      .sinkTo({ guarantee: 'none', createWriter: sink })
      .uid('full')
  },
})
`

/** Starts the job; resolves with its REST address when its sink is full. */
async function start(
  ...settings: readonly string[]
): Promise<{ readonly job: CommandProcess; readonly url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-held-back-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const module = join(folder, 'held-back.ts')
  writeFileSync(module, JOB)
  const job = weir([
    ...['run', module, '--data-dir', join(folder, 'data'), '--port', '0', '--slots', '2'],
    ...['--log-format', 'json', '-D', 'rest.port=0'],
    ...['-D', 'execution.checkpointing.interval=1h'],
    ...settings.flatMap((setting) => ['-D', `execution.checkpointing.${setting}`]),
  ])
  onTestFinished(() => job[Symbol.asyncDispose]())
  const [, url = ''] = await job.printed(/REST interface on (http:[^"\s]+)/)
  await until('the sink holds the job back', async () => {
    const { jobs } = (await (await fetch(`${url}/jobs/overview`)).json()) as {
      jobs: { jid: string }[]
    }
    const live = await fetch(`${url}/weir/jobs/${jobs[0]!.jid}/live`)
    const { vertices } = (await live.json()) as { vertices: { backPressured: number }[] }
    return vertices.some(({ backPressured }) => backPressured > 0.9)
  })
  return { job, url }
}

it('SIGTERM of a job that is held back says so at once, answers probes and metrics meanwhile, and ends in time', async () => {
  const { job, url } = await start('shutdown-timeout=8s')
  job.signal('SIGTERM')
  await job.printed(/stopping: a last checkpoint is taken, for at most 8 s/)
  expect((await fetch(`${url}/health/live`)).status).toBe(200)
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('weir_')
  const { code, stderr } = await job.ended
  expect(code).toBe(0)
  const lines = jsonLines(stderr)
  const messages = lines.map(({ msg }) => msg)
  const [said, gaveUp] = [/^stopping: /, /^no last checkpoint: /].map((begin) =>
    Number(lines.find(({ msg }) => begin.test(String(msg)))?.['time']),
  )
  // At once, and not when it was given up. Clocks and timers round.
  expect(gaveUp! - said!).toBeGreaterThan(7_500)
  expect(messages.at(-1)).toBe(
    'no last checkpoint: it was not complete within 8000 ms; the next start continues from the checkpoint before, and reads again what came after it',
  )
})

it('the last checkpoint of a job with unaligned checkpoints overtakes the records that hold it back', async () => {
  const { job } = await start(
    'shutdown-timeout=30s',
    'unaligned.enabled=true',
    'aligned-checkpoint-timeout=1h',
  )
  job.signal('SIGTERM')
  const { code, stderr } = await job.ended
  expect(code).toBe(0)
  expect(jsonLines(stderr).at(-1)).toMatchObject({ msg: 'checkpoint 1 is the last one' })
})
