import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { jsonLines, REPOSITORY, weir } from './command-process.ts'

it('the log of a job that fails and restarts is JSON lines with attempt, code, operator and subtask', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-job-log-'))
  try {
    const module = join(folder, 'broken.ts')
    const weirUrl = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href
    writeFileSync(
      module,
      `import { defineJob, MemorySink, MemorySource, noWatermarks } from '${weirUrl}'
export default defineJob({
  name: 'broken',
  build: (env) => {
    env
      .fromSource(new MemorySource([[1, 2, 3]]), noWatermarks(), 'numbers')
      .map(() => {
        throw new Error('divided by zero')
      })
      .uid('divide')
      .sinkTo(new MemorySink())
  },
})
`,
    )
    const restart = ['-D', 'restart-strategy.type=fixed-delay', '-D']
    const flags = [
      '--log-format',
      'json',
      '--port',
      '0',
      '--slots',
      '1',
      '-D',
      'rest.enabled=false',
    ]
    const { stderr, code } = await weir([
      ...['run', module, '--data-dir', join(folder, 'data'), ...flags],
      ...[...restart, 'restart-strategy.fixed-delay.delay=10ms'],
    ]).ended
    expect(code).toBe(1)
    // Each line is JSON, also the one that ends the command.
    const lines = jsonLines(stderr)
    expect(lines.at(-1)).toMatchObject({ level: 50, name: 'weir', code: 'JOB_FAILED' })
    const place = { level: 50, job: module, operator: expect.any(String), subtask: 0 }
    const of = (attempt: number, text: string) =>
      expect.objectContaining({
        ...place,
        attempt,
        code: expect.stringMatching(/^[A-Z_]+$/),
        msg: expect.stringMatching(text),
      })
    expect(lines).toContainEqual(
      of(1, 'attempt 1 failed: .*divided by zero .*; restarting in 0.01 s'),
    )
    expect(lines).toContainEqual(of(2, 'the job has failed: .*divided by zero'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
