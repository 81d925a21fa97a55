import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import type { RestoreTestReport } from '../../../src/testing/test-restores.ts'
import { recordedIo } from '../recorded-io.ts'

const PACKAGE = new URL('../../../src/index.ts', import.meta.url).href

/** A job that counts words: in `state` with the option, in a variable of the module without it. */
const JOB = `
import { defineJob, GeneratorSource, MemorySink, noWatermarks, valueState } from '${PACKAGE}'
const counts = new Map()
export default defineJob({
  name: 'words',
  options: {
    state: { type: 'boolean', help: 'Where the count is' },
    log: { type: 'string', help: 'Topics', isLogDirectory: true },
  },
  build(env, { state }) {
    const inState = () => ({
      open(context) { this.count = context.getState(valueState('count')) },
      processElement(word, _context, out) {
        const next = (this.count.value() ?? 0) + 1
        this.count.update(next)
        out.collect(word + ' ' + next)
      },
    })
    const inVariable = () => ({
      processElement(word, _context, out) {
        counts.set(word, (counts.get(word) ?? 0) + 1)
        out.collect(word + ' ' + counts.get(word))
      },
    })
    env
      .fromSource(new GeneratorSource({ generate: String }), noWatermarks()).uid('words')
      .keyBy((word) => word)
      .process(state ? inState : inVariable)
      .sinkTo(new MemorySink())
      .uid('counts')
  },
})
`

let folder: string
let job: string
let events: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-jobs-test-'))
  job = join(folder, 'words.mjs')
  events = join(folder, 'words.jsonl')
  writeFileSync(job, JOB)
  const lines = Array.from({ length: 30 }, (_, i) => JSON.stringify({ value: `w${i % 4}` }))
  writeFileSync(events, lines.join('\n'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function test(...words: string[]) {
  const { io, out, err } = recordedIo()
  const exitCode = await runCommandLine(['jobs', 'test', job, ...words], io)
  return { exitCode, out, err: err.join('\n') }
}

describe('weir jobs test', { timeout: 120_000 }, () => {
  it('passes a job whose counts are in state', async () => {
    const { exitCode, out } = await test('--events', events, '--option', 'state=true')
    expect(out[0]).toMatch(
      /: 30 events, 30 results, 20 runs with \d+ kills \(seed 1\): all runs have the results of the run without kills$/,
    )
    expect(exitCode).toBe(0)
  })

  it('finds a variable of the module, and says where the job was killed and what is wrong', async () => {
    const words = ['--events', events, '--option', 'state=false', '--runs', '7', '--seed', '3']
    const { exitCode, out } = await test(...words)
    expect(exitCode).toBe(1)
    expect(out[0]).toMatch(/7 runs with \d+ kills \(seed 3\): \d runs? differs? from/)
    expect(out[1]).toMatch(
      /^run \d: .*killed after event \d+, restored from the checkpoint after event \d+/,
    )
    expect(out.join('\n')).toMatch(/\n {2}lost of sink "counts": 'w\d \d+'/)
    const json = await test(...words, '--json')
    const report = JSON.parse(json.out.join('\n')) as RestoreTestReport
    expect(report).toMatchObject({ verdict: 'failed', seed: 3, runs: 7, results: { counts: 30 } })
    expect(json.exitCode).toBe(1)
  })

  it('refuses files without events in words, and an empty one compares nothing', async () => {
    expect((await test()).err).toContain('--events FILE is required')
    expect((await test('--events', join(folder, 'none'))).err).toContain('there is no such file')
    writeFileSync(events, '{"value":"a"}\n{"valeu":"b"}\n')
    const wrong = await test('--events', events, '--option', 'state=true')
    expect(wrong.err).toContain('words.jsonl: line 2 has neither value nor watermark nor clock')
    expect(wrong.exitCode).toBe(2)
    writeFileSync(events, '')
    const empty = await test('--events', events, '--option', 'state=true')
    expect(empty.out[0]).toContain('no result reaches a sink')
    expect(empty.exitCode).toBe(1)
  })
})
