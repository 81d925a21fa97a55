import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { freePorts } from '../../services/free-port.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

const AS_JSON = { 'content-type': 'application/json' }

/** A JobManager in the background with a folder of its own, which has a generated ALS model. */
export class TestCluster implements AsyncDisposable {
  readonly folder: string
  readonly url: string

  private constructor(folder: string, port: number) {
    this.folder = folder
    this.url = `http://127.0.0.1:${port}`
  }

  static start(...flags: readonly string[]): Promise<TestCluster> {
    return TestCluster.withModel(['--users', '100', '--items', '50'], flags)
  }

  /** The same with a model of another shape. */
  static async withModel(
    shape: readonly string[],
    flags: readonly string[] = [],
  ): Promise<TestCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'weir-jobmanager-'))
    const cluster = new TestCluster(folder, (await freePorts(1))[0]!)
    const model = await cluster.local('generate', 'als-model', ...shape)
    expect(model.code, model.stderr).toBe(0)
    await cluster.startJobManager(...flags)
    return cluster
  }

  /** `127.0.0.1:PORT` */
  get address(): string {
    return this.url.slice('http://'.length)
  }

  /** Runs a command on the folder of the cluster, in this process; one that starts a JobManager is a process of its own. */
  local(...words: readonly string[]): Promise<CommandResult> {
    const all = [...words, '--data-dir', this.folder]
    return words[1] === 'start' ? weir(all).ended : inProcess(all)
  }

  /** Runs a command that talks to the JobManager, in this process. */
  ask(...words: readonly string[]): Promise<CommandResult> {
    return inProcess([...words, '-m', this.address])
  }

  async startJobManager(...flags: readonly string[]): Promise<void> {
    const { port } = new URL(this.url)
    const started = await this.local('cluster', 'start', '-D', `rest.port=${port}`, ...flags)
    expect(started, started.stderr).toMatchObject({ code: 0 })
    expect(started.stdout).toContain(`REST interface on ${this.url}`)
  }

  /** Submits a job; returns its id. */
  async submit(...words: readonly string[]): Promise<string> {
    const submitted = await this.ask(...words, '-d')
    expect(submitted, submitted.stderr).toMatchObject({ code: 0 })
    return /^Job has been submitted with JobID ([0-9a-f]{32})$/m.exec(submitted.stdout)![1]!
  }

  /** The JSON of a REST path. */
  async read<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.url}${path}`)).json()) as T
  }

  /** Sends a request with JSON; the JSON of the answer. Throws when it is refused. */
  async send<T>(method: string, path: string, body?: object): Promise<T> {
    const json = body === undefined ? {} : { body: JSON.stringify(body), headers: AS_JSON }
    const answer = await fetch(`${this.url}${path}`, { method, ...json })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }

  /** Resolves when the job is in this state. */
  async reaches(id: string, state: string): Promise<void> {
    const isReached = async (): Promise<boolean> =>
      (await this.read<{ readonly state: string }>(`/jobs/${id}`)).state === state
    await until(`job ${id} is ${state}`, isReached, { everyMs: 20 })
  }

  /** The number of the process of the JobManager. */
  get pid(): number {
    const text = readFileSync(join(this.folder, 'jobmanager', 'jobmanager.json'), 'utf8')
    return (JSON.parse(text) as { readonly pid: number }).pid
  }

  /** The number of the process of a job. */
  async jobPid(id: string): Promise<number> {
    const { taskmanagers } = await this.read<{
      readonly taskmanagers: readonly { readonly id: string; readonly path: string }[]
    }>('/taskmanagers')
    const slot = taskmanagers.find((candidate) => candidate.id.startsWith(id))
    return Number(/process (\d+)/.exec(slot?.path ?? '')?.[1])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.local('cluster', 'stop')
    rmSync(this.folder, { recursive: true, force: true })
  }
}
