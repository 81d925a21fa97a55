import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { Installation } from '../../combinations/installation.ts'
import { type Rows, Service } from '../../combinations/service.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

const MODEL = 'als-model'
const USERS = ['1', '2', '3', '4', '5']
const ROWS = { state: 'ALS_MODEL', keys: USERS.map((user) => `${user}-U`), model: MODEL }
const SERVE = ['run', 'als-serving']

const generate = (seed: string): readonly string[] => [
  ...['generate', 'als-model', '--users', '5', '--items', '5', '--factors', '4'],
  ...['--seed', seed],
]

/** States of the versions, as `weir model list` has them. */
async function statesOf(at: Installation): Promise<readonly string[]> {
  const lines = (await at.run('model', 'list', '--json')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { readonly state: string }).state)
}

/** Starts a job of a machine without a registry, which says so. */
async function startedWithout(at: Installation, ...flags: string[]): Promise<CommandProcess> {
  const ports = ['--port', '0', '-D', 'rest.enabled=false', '--json']
  const job = weir([...SERVE, ...flags, ...ports, ...at.place], { cwd: at.folder })
  onTestFinished(() => job[Symbol.asyncDispose]())
  await job.printed(/the registry does not have als-model, but versions of it were registered/)
  return job
}

async function rowsOf(at: Installation, ...flags: string[]): Promise<Rows> {
  const service = await Service.start(at, ...SERVE, ...flags)
  onTestFinished(() => service.kill())
  const rows = await service.rows(ROWS)
  await service.stop()
  return rows
}

it('a version that was rejected never goes live because the registry is gone: neither in a backup, nor on the spot', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-lost-registry-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const at = new Installation(join(folder, 'first'), { runCommand: inProcess })
  await at.run(...generate('1'))
  const service = await Service.start(at, ...SERVE)
  onTestFinished(() => service.kill())
  const rows = await service.rows(ROWS)
  await at.run(...generate('2'))
  expect(await statesOf(at)).toEqual(['live', 'candidate'])
  const savepoint = fileURLToPath(await service.stopWithSavepoint())

  // A backup of the log and of the savepoint.
  const there = new Installation(join(folder, 'second'), { runCommand: inProcess })
  cpSync(at.file('data/log'), there.file('data/log'), { recursive: true })
  const copied = there.file(join('data/checkpoints/savepoints', basename(savepoint)))
  cpSync(savepoint, copied, { recursive: true })
  expect(await rowsOf(there, '--restore-from', copied)).toEqual(rows)
  expect(await statesOf(there)).toEqual(['candidate', 'candidate'])
  const restored = await startedWithout(there, '--restore-from', copied)
  await restored.printed(/version 1 stays live, as in the checkpoint of the job/)
  await restored[Symbol.asyncDispose]()

  // The folder is removed where the job runs, which begins from its last checkpoint.
  expect(await rowsOf(at)).toEqual(rows)
  rmSync(at.file('data/registry'), { recursive: true })
  expect(await rowsOf(at)).toEqual(rows)
  expect(await statesOf(at)).toEqual(['candidate', 'candidate'])

  // Without a checkpoint no one knows what was live.
  rmSync(at.file('data/checkpoints'), { recursive: true })
  const unsure = await startedWithout(at)
  await unsure.printed(/: no version is served\. Bring the registry back/)
  await at.run('model', 'promote', '1', '--force', 'the registry was lost')
  await unsure.printed(/"event":"live","version":1,/)
  await unsure[Symbol.asyncDispose]()
  expect(await statesOf(at)).toEqual(['live', 'candidate'])
  expect(await rowsOf(at)).toEqual(rows)
})
