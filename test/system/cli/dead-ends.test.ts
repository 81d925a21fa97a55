import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandResult, REPOSITORY, weir } from './command-process.ts'

let folder: string
let job: string
let input: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-dead-ends-'))
  input = join(folder, 'input.txt')
  writeFileSync(input, 'a\nb\na\n')
  job = join(folder, 'count-lines.ts')
  const weirUrl = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href
  writeFileSync(
    job,
    `import { defineJob, LineFileSink, LineFileSource, valueState } from '${weirUrl}'
    export default defineJob<{ input: string, output: string, fail?: string }>({
      name: 'count-lines',
      build(env, { input, output, fail }) {
        env.fromSource(new LineFileSource({ paths: [input], parse: String })).uid('lines')
          .keyBy((line: string) => line)
          .process<string>(() => {
            let count: any
            return {
              open(context: any) {
                if (fail !== undefined) throw new Error(fail)
                count = context.getState(valueState<number>('count'))
              },
              processElement(line: string, _context: any, out: any) {
                count.update((count.value() ?? 0) + 1)
                out.collect(line + ' ' + count.value())
              },
            }
          }).uid('count')
          .sinkTo(new LineFileSink({ directory: output, format: String })).uid('results')
      },
    })`,
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the job over the data folder `data`, with options and flags. */
async function run(data: string, options: Record<string, string>, ...flags: string[]) {
  const words = Object.entries({ output: join(folder, `${data}-out`), ...options })
  return await weir([
    ...['run', job, '--port', '0', '--data-dir', join(folder, data), ...flags],
    ...words.flatMap(([key, value]) => ['--option', `${key}=${value}`]),
  ]).ended
}

function expectEnd({ code, stderr }: CommandResult, reason: RegExp): void {
  expect(stderr).toMatch(reason)
  expect(code).toBe(1)
}

describe('weir run with an error that cannot pass', () => {
  it('ends with exit status 1 and the code when an input file is missing', async () => {
    const result = await run('missing', { input: join(folder, 'nowhere') })
    expectEnd(result, /JOB_FAILED: the job ended with FILE_NOT_FOUND: .*nowhere.*check the path/)
  })

  it('ends when a part of the data folder is a file', async () => {
    mkdirSync(join(folder, 'blocked'))
    writeFileSync(join(folder, 'blocked', 'file'), '')
    const result = await run('blocked/file/data', { input })
    expectEnd(result, /^weir: FILE_NOT_FOUND: .*a part of the path is a file/m)
  })

  it('ends after several starts that failed with the same message, and reports each', async () => {
    const quick = ['initial-backoff', 'max-backoff'].flatMap((key) => [
      '-D',
      `restart-strategy.exponential-delay.${key}=10ms`,
    ])
    const type = ['-D', 'restart-strategy.type=exponential-delay']
    const result = await run('same', { input, fail: 'no native build' }, ...type, ...quick)
    expectEnd(result, /5 attempts in a row failed with this message before they ran/)
    expect(result.stderr).toMatch(
      /count-lines.ts: \d\d:\d\d:\d\d attempt 1 failed: OPERATOR_FAILED: .*no native build \(at Object\.open, .*count-lines\.ts:11:\d+\); restarting in 0\.0\d* s/,
    )
  })

  it('ends without touching a file when its only checkpoint is damaged, and runs when that is repaired', async () => {
    expect(await run('damaged', { input })).toMatchObject({ code: 0 })
    const list = await weir(['checkpoint', 'list', '--json', '--data-dir', join(folder, 'damaged')])
      .ended
    const { folder: checkpoint } = JSON.parse(list.stdout.split('\n')[0]!) as { folder: string }
    const manifest = join(folder, 'damaged', 'checkpoints', checkpoint, '_metadata')
    const whole = readFileSync(manifest)
    writeFileSync(manifest, whole.subarray(0, 60))
    const result = await run('damaged', { input })
    expectEnd(
      result,
      /the job ended with MALFORMED_DATA: no checkpoint of the job is whole: .*_metadata/,
    )
    const verify = await weir(['checkpoint', 'verify', '--data-dir', join(folder, 'damaged')]).ended
    expect(verify.code).toBe(1)
    writeFileSync(manifest, whole)
    expect(await run('damaged', { input })).toMatchObject({ code: 0 })
    const none = await run('damaged', { input }, '--restore-from', '7')
    expectEnd(none, /the job ended with CHECKPOINT_NOT_FOUND: .*no 7-th newest whole checkpoint/)
  })
})
