import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { countGraph } from '../../runtime/job-fixture.ts'
import { recordedIo } from '../recorded-io.ts'

const JOB_ID = 'e'.repeat(32)

let root: string
let job: string

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  const checkpoints = join(root, 'checkpoints')
  job = join(checkpoints, JOB_ID)
  const configuration = { 'execution.checkpointing.dir': checkpoints }
  await using cluster = new MiniCluster({ configuration })
  const execution = cluster.startLocal(
    countGraph({ countPerPartition: 100_000, ratePerSecond: 20_000 }).graph,
    { jobId: JOB_ID },
  )
  await execution.waitFor('RUNNING')
  await execution.triggerCheckpoint()
  await execution.triggerCheckpoint()
  await execution.stopWithSavepoint()
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

async function run(...words: string[]) {
  const { io, out, err } = recordedIo()
  const exitCode = await runCommandLine([...words, '--data-dir', root], io)
  return { exitCode, out: out.join('\n'), err: err.join('\n'), lines: out }
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at]! ^= 1
  writeFileSync(file, bytes)
}

describe('weir checkpoint list and verify', () => {
  it('says of whole checkpoints and savepoints that they are whole', async () => {
    for (const verb of ['list', 'verify']) {
      const { exitCode, out } = await run('checkpoint', verb)
      expect(exitCode).toBe(0)
      expect(out).toMatch(new RegExp(`${JOB_ID}/chk-2\n {2}whole: \\d+ files, .*, count, 20`))
      expect(out).toMatch(/savepoints\/savepoint-eeeeee-\w+\n {2}whole/)
      expect(out.indexOf('chk-2')).toBeLessThan(out.indexOf('chk-1'))
    }
  })

  it('names the damaged byte of a segment in every checkpoint that refers to it, and what to do', async () => {
    const shared = join(job, 'shared')
    const [segment] = readdirSync(shared).sort()
    flip(join(shared, segment!), 20)
    expect((await run('checkpoint', 'list')).exitCode).toBe(0)
    const { exitCode, out } = await run('checkpoint', 'verify')
    expect(exitCode).toBe(1)
    expect(out).toContain('DAMAGED')
    expect(out).toContain(`${JOB_ID}/shared/${segment}: CHECKSUM_MISMATCH at byte 8: `)
    expect(out).toContain('weir run JOB --restore-from PATH')
  })

  it('finds a flipped, cut and empty manifest, and a missing segment, by their lengths alone', async () => {
    const manifest = join(job, 'chk-2', '_metadata')
    const whole = readFileSync(manifest)
    const damages = [whole.subarray(0, 50), whole.subarray(0, 0), Buffer.from(whole)]
    damages[2]![40]! ^= 1
    for (const damaged of damages) {
      writeFileSync(manifest, damaged)
      const { exitCode, lines } = await run('checkpoint', 'list', '--json')
      expect(exitCode).toBe(1)
      const found = lines.map((line) => JSON.parse(line) as { isWhole: boolean; folder: string })
      expect(found.filter(({ isWhole }) => !isWhole)).toMatchObject([
        { folder: `${JOB_ID}/chk-2`, damaged: [{ path: `${JOB_ID}/chk-2/_metadata` }] },
      ])
    }
    writeFileSync(manifest, whole)
    const shared = join(job, 'shared')
    rmSync(join(shared, readdirSync(shared)[0]!))
    expect((await run('checkpoint', 'list')).out).toMatch(/CHECKPOINT_NOT_FOUND/)
  })

  it('says that a manifest was lost, of which checkpoint, and what to remove when it is not needed', async () => {
    rmSync(join(job, 'chk-2'), { recursive: true })
    for (const words of [['list'], ['verify'], ['verify', `${JOB_ID}/chk-2`]]) {
      const { exitCode, out } = await run('checkpoint', ...words)
      expect(exitCode).toBe(1)
      expect(out).toContain(
        `${JOB_ID}/chk-2/_metadata: CHECKPOINT_NOT_FOUND: ${JOB_ID}/chk-2/_metadata is missing, although ${JOB_ID}/epoch-1-1-completed-2 records that the checkpoint completed. Put it back from a copy; if the checkpoint is no longer needed, remove ${JOB_ID}/epoch-1-1-completed-2`,
      )
    }
    const { lines } = await run('checkpoint', 'list', '--json')
    const found = lines.map((line) => JSON.parse(line) as { isWhole: boolean })
    expect(found.filter(({ isWhole }) => !isWhole)).toMatchObject([
      { folder: `${JOB_ID}/chk-2`, files: 0, damaged: [{ code: 'CHECKPOINT_NOT_FOUND' }] },
    ])
    rmSync(join(job, 'epoch-1-1-completed-2'))
    expect((await run('checkpoint', 'verify')).exitCode).toBe(0)
  })

  it('does not call a checkpoint damaged that a savepoint has replaced', async () => {
    // What a start from the savepoint writes, and the sweep of an older build.
    writeFileSync(join(job, 'epoch-2'), '')
    writeFileSync(join(job, 'epoch-2-1-restored-0'), 'savepoints/savepoint-1')
    rmSync(join(job, 'shared'), { recursive: true })
    for (const words of [['list'], ['verify'], ['verify', `${JOB_ID}/chk-2`]]) {
      const { exitCode, out } = await run('checkpoint', ...words)
      expect(out).toMatch(new RegExp(`${JOB_ID}/chk-2\n {2}superseded: .*\n {2}the job continued`))
      expect(out).not.toContain('DAMAGED')
      expect(exitCode).toBe(0)
    }
  })

  it('looks at one checkpoint, and refuses a place without one', async () => {
    const { out } = await run('checkpoint', 'verify', `${JOB_ID}/chk-1`)
    expect(out).not.toContain('chk-2')
    const missing = await run('checkpoint', 'verify', 'savepoints/none')
    expect(missing.exitCode).toBe(1)
    expect(missing.err).toContain('CHECKPOINT_NOT_FOUND')
    rmSync(join(root, 'checkpoints'), { recursive: true })
    const nowhere = await run('checkpoint', 'list')
    expect(nowhere.exitCode).toBe(1)
    expect(nowhere.err).toContain('FILE_NOT_FOUND: there is no checkpoint storage')
  })
})
