import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import {
  generateRatings,
  publishAls,
  ratingsTable,
  serveAls,
  trainAls,
} from '../../../src/index.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { ServedJob } from '../../../src/jobs/served-job.ts'
import { putClientPackage } from './built-packages.ts'
import { importedPackages } from './imported-packages.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
const run = promisify(execFile)

let folder: string
/** A project whose only package is the client. */
let project: string
const installed = (...path: readonly string[]): string =>
  join(project, 'node_modules/@weirjs/client', ...path)

/** What a program wrote; rejects with its output when it fails. */
async function output(program: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await run(program, args, { cwd })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}

/** Builds and packs the client, and installs the file without the registry. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-client-package-'))
  project = join(folder, 'project')
  const built = join(folder, 'built')
  await putClientPackage(built)
  const pack = ['pack', built, '--pack-destination', folder, '--ignore-scripts', '--silent']
  const tarball = (await output('npm', pack, folder)).trim()
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}\n')
  const quiet = ['--offline', '--no-audit', '--no-fund', '--loglevel=error']
  await output('npm', ['install', ...quiet, join(folder, tarball)], project)
  cpSync(join(ROOT, 'test/fixtures/client-consumer'), project, { recursive: true })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Manifest {
  readonly version: string
  readonly license: string
  readonly engines: object
  readonly dependencies?: object
}

const manifestAt = (path: string): Manifest =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest

describe('the package of the client', () => {
  it('is all that is installed with it, and imports no package', () => {
    expect(readdirSync(join(project, 'node_modules'))).toEqual(['.package-lock.json', '@weirjs'])
    expect(readdirSync(join(project, 'node_modules/@weirjs'))).toEqual(['client'])
    expect([...importedPackages(installed('dist'))]).toEqual([])
    const files = readdirSync(installed(), { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.endsWith('.node'))).toEqual([])
  })

  it('has the version, the licence and the engines of the main package, and a bill of materials', () => {
    const { version, license, engines, dependencies } = manifestAt(installed())
    const main = manifestAt(ROOT)
    expect({ version, license, engines }).toEqual({
      version: main.version,
      license: main.license,
      engines: main.engines,
    })
    expect(dependencies).toBeUndefined()
    for (const name of ['LICENSE', 'README.md'])
      expect(readFileSync(installed(name), 'utf8').length).toBeGreaterThan(500)
    const bill = JSON.parse(readFileSync(installed('dist/bom.cdx.json'), 'utf8')) as {
      metadata: { component: { name: string } }
      components: { name: string; licenses: unknown }[]
    }
    expect(bill.metadata.component.name).toBe('@weirjs/client')
    expect(bill.components).toMatchObject([
      { name: 'msgpackr', licenses: [{ license: { id: 'MIT' } }] },
    ])
    expect(readFileSync(installed('dist/msgpackr.cjs'), 'utf8')).toContain(
      'Permission is hereby granted, free of charge',
    )
  })

  it.each(['tsconfig.json', 'tsconfig.bundler.json'])(
    'has types that a strict program compiles against: %s',
    async (configuration) => {
      const types = join(project, 'node_modules/@types')
      rmSync(types, { force: true })
      symlinkSync(join(ROOT, 'node_modules/@types'), types)
      expect(await output(process.execPath, [TSC, '-p', configuration], project)).toBe('')
      rmSync(types)
    },
  )

  it('asks jobs from JavaScript and from TypeScript what the client of the main package asks', async () => {
    await using model = await servedModel()
    await using visits = await servedVisits()
    const expected = await answersOf(model.port, visits.port)
    for (const program of ['main.js', 'main.ts']) {
      const args = [program, String(model.port), String(visits.port)]
      const answers = await output(process.execPath, args, project)
      expect(JSON.parse(answers), program).toEqual(expected)
    }
  })
})

/** A job that serves a trained model of ratings. */
async function servedModel() {
  const dataDir = join(folder, 'data')
  const ratings = [...generateRatings({ users: 40, items: 20, ratings: 1500, seed: 1 })]
  const trained = await trainAls(ratingsTable(ratings), { factors: 6, iterations: 3, threads: 0 })
  await using log = new LogTopics(dataDirectory(dataDir).log)
  await publishAls(trained, {
    log,
    topic: 'als-model',
    version: 1,
    metrics: {},
    clock: systemClock,
  })
  const model = await serveAls({ dataDir })
  await model.whenLive()
  return model
}

/** A job that keeps a value with a Map and a Date, which MessagePack packs by extensions. */
async function servedVisits(): Promise<ServedJob> {
  const job = await ServedJob.start({
    module: new URL('./visits-job.ts', import.meta.url),
    jobOptions: {},
    configuration: { 'state.backend.type': 'heap' },
    seed: 1,
    port: 0,
  })
  await job.execution.waitFor('RUNNING')
  return job
}

/** The answers that the programs print, from the client of the sources. */
async function answersOf(modelPort: number, visitsPort: number): Promise<object> {
  await using model = await WeirClient.connect({ port: modelPort, deadlineMs: 60_000 })
  await using visits = await WeirClient.connect({ port: visitsPort, deadlineMs: 60_000 })
  await expect.poll(() => visits.get('VISITS', 'home')).toBeDefined()
  const { score } = await model.predict('ALS_MODEL', '3-U', '5-I')
  const best = await model.topK('ALS_MODEL', '3-U', { k: 3, suffix: '-I' })
  const [row] = await model.rows('ALS_MODEL', ['3-U'])
  if (!best.ok || !row?.ok) throw new Error('the model has no answer')
  return {
    score,
    best: best.value,
    row: [...row.value],
    visit: { count: 1, last: '1970-01-01T00:00:00.000Z', words: [['home', 1]] },
    absent: true,
  }
}
