import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandResult, jsonLines, REPOSITORY, weir } from '../cli/command-process.ts'

const weirUrl = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href

let folder: string
let data: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-other-topic-'))
  data = join(folder, 'data')
  writeFileSync(
    join(folder, 'copy.ts'),
    `import { defineJob, LogSink, LogSource, noWatermarks } from '${weirUrl}'
const directory = ${JSON.stringify(join(data, 'log'))}
export default defineJob({
  name: 'copy',
  build: (env, { topic }) => {
    env
      .fromSource(LogSource.raw({ directory, topic }), noWatermarks(), 'records')
      .sinkTo(new LogSink({
        directory,
        topic: 'copies',
        guarantee: 'at-least-once',
        serialize: ({ value }, record) => {
          record.value = value
        },
      }))
      .uid('copies')
  },
})
`,
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(args: readonly string[], input = ''): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data], input)
  expect(result).toMatchObject({ code: 0 })
  return result
}

async function copies(): Promise<readonly string[]> {
  const { stdout } = await run(['topic', 'consume', 'copies', '--json'])
  return jsonLines(stdout).map(({ value }) => String(value))
}

function copy(topic: string, ...more: readonly string[]) {
  // Copies are written at a checkpoint.
  const often = ['-D', 'execution.checkpointing.interval=100ms']
  const flags = ['--port', '0', '--slots', '1', '-D', 'rest.enabled=false', ...often]
  return weir([
    ...['run', join(folder, 'copy.ts'), '--option', `topic=${topic}`, '--data-dir', data],
    ...flags,
    ...more,
  ])
}

/** Copies a topic until `count` records are copied in all, then stops the job with its checkpoint. */
async function copyUntil(topic: string, count: number, ...more: readonly string[]): Promise<void> {
  await using job = copy(topic, ...more)
  await until(`${count} records are copied`, async () => (await copies()).length >= count)
  job.signal('SIGINT')
  expect(await job.ended).toMatchObject({ code: 0 })
}

it('a job that is started on another topic in its data folder says so and reads nothing; on its own topic it continues', async () => {
  for (const topic of ['s1', 's2', 'copies'])
    await run(['topic', 'create', topic, '--partitions', '1'])
  await run(['topic', 'produce', 's1'], 'a\nb\n')
  await run(['topic', 'produce', 's2'], 'x\ny\nz\n')
  await copyUntil('s1', 2)
  const { code, stderr } = await copy('s2').ended
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /TOPIC_CHANGED: .*the checkpoint has offsets of topic "s1" \(id [0-9a-f-]+\), and the job reads topic "s2"/,
  )
  expect(stderr).toContain('name topic "s1" to continue, or start without this checkpoint')
  expect(stderr).not.toContain('created again')
  await run(['topic', 'produce', 's1'], 'c\n')
  await copyUntil('s1', 3)
  await copyUntil('s2', 6, '-D', `execution.checkpointing.dir=${join(folder, 'checkpoints')}`)
  expect(await copies()).toEqual(['a', 'b', 'c', 'x', 'y', 'z'])
})
