import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderedCommand } from '../../cli/kubernetes/rendered-command.ts'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { type CommandProcess, jsonLines, weir } from '../cli/command-process.ts'
import { newTopic } from '../kafka/fixture.ts'

let broker: SharedKafka
let folder: string

beforeAll(async () => {
  broker = await sharedKafka()
  folder = mkdtempSync(join(tmpdir(), 'weir-kubernetes-'))
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await broker?.[Symbol.asyncDispose]()
})

type StatefulSet = Parameters<typeof renderedCommand>[0]

/** The StatefulSet of a job whose Kafka is at `brokers`. */
async function renderedSet(name: string, brokers: string): Promise<StatefulSet> {
  const client = { brokers: broker.bootstrap }
  const topics = { input: await newTopic(client), output: await newTopic(client) }
  const options = { brokers, ...topics }
  const settings = {
    'execution.checkpointing.dir': join(folder, 'checkpoints'),
    'scale-out.partitions': '4',
    'session.timeout.ms': '6 s',
    'heartbeat.interval.ms': '300 ms',
  }
  await using command = weir([
    ...['kubernetes', 'render', join(import.meta.dirname, 'fold-job.ts'), '--json'],
    ...['--name', name, '--image', 'example.com/fold:1', '--brokers', brokers],
    ...['--replicas', '2', '--checkpoints-claim', 'nfs', '--slots', '1'],
    ...Object.entries(options).flatMap(([key, value]) => ['--option', `${key}=${value}`]),
    ...Object.entries(settings).flatMap(([key, value]) => ['-D', `${key}=${value}`]),
  ])
  const { stdout } = await command.ended
  const found = jsonLines(stdout).find(({ kind }) => kind === 'StatefulSet')
  if (found === undefined) throw new Error(`no StatefulSet in:\n${stdout}`)
  // As it was printed: what its test reads of it is there.
  return found as unknown as StatefulSet
}

/** A pod: the rendered command with the built package in place of the image, on the network of this machine. */
class Pod implements AsyncDisposable {
  readonly process: CommandProcess

  constructor(set: StatefulSet, name: string) {
    const { words } = renderedCommand(set, name)
    expect(words[0]).toBe('/app/node_modules/.bin/weir')
    // What Kubernetes mounts, and the address that is the pod's own.
    const here: Readonly<Record<string, string>> = {
      '/data': join(folder, name),
      '0.0.0.0:8080': '127.0.0.1:0',
    }
    this.process = weir(words.slice(1).map((word) => here[word] ?? word))
  }

  /** The answer of a probe: its status and what it waits for. */
  async probe(name: string): Promise<{ status: number; waiting?: unknown }> {
    const [, url] = await this.process.printed(
      /answers supervisors on (http:\/\/[\d.:]+\/health\/)/,
    )
    const answer = await fetch(`${url}${name}`)
    return { status: answer.status, waiting: (await answer.json()).waiting }
  }

  async untilReady(): Promise<void> {
    await until(
      () => `it is ready:\n${this.process.printedErrors}`,
      async () => (await this.probe('ready')).status === 200,
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.process[Symbol.asyncDispose]()
  }
}

/** The job partitions that a process got last, as it says them. */
function lastAssignment(pod: Pod): string | undefined {
  return [...pod.process.printedErrors.matchAll(/owns job partitions ([\d, -]+\d)/g)].at(-1)?.[1]
}

describe('the container of a rendered StatefulSet', () => {
  it('runs processes of one job, which say when they are ready, and hand over when they are ended', async () => {
    const name = `fold-${randomUUID().slice(0, 8)}`
    const set = await renderedSet(name, broker.bootstrap)
    await using first = new Pod(set, `${name}-0`)
    expect(await first.probe('live')).toEqual({ status: 200 })
    await first.untilReady()
    await using second = new Pod(set, `${name}-1`)
    await second.untilReady()
    await until(
      () => `they share the job partitions:\n${second.process.printedErrors}`,
      () => /owns job partitions \d/.test(second.process.printedErrors),
    )
    await first.untilReady()
    const started = { status: 200, waiting: [] }
    expect(await second.probe('startup')).toEqual(started)
    second.process.signal('SIGTERM')
    const { code, stderr } = await second.process.ended
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('left the group')
    await until(
      () => `the first one owns all:\n${first.process.printedErrors}`,
      () => lastAssignment(first) === '0-3',
    )
    await first.untilReady()
  })

  it('lives and is not ready while there is no Kafka', async () => {
    const set = await renderedSet('alone', '127.0.0.1:1')
    await using pod = new Pod(set, 'alone-0')
    await pod.process.printed(/ECONNREFUSED/)
    expect(await pod.probe('live')).toEqual({ status: 200 })
    const waiting = ['the process starts']
    expect(await pod.probe('ready')).toEqual({ status: 503, waiting })
    expect(await pod.probe('startup')).toEqual({ status: 503, waiting })
  })
})
